const assert = require("node:assert/strict");
const { rmSync } = require("node:fs");

/** One genuine and one forged notification over each inbox, the thread of SQLite included. */
module.exports = async function scenario({ core, emulator: { createEmulator }, sqlite }) {
  const { createClient, createReceiver, memoryInbox } = core;
  const file = `inbox-${process.pid}.db`;
  const inboxes = [
    memoryInbox(),
    sqlite.sqliteInbox(file),
    sqlite.sqliteInbox(file, { driver: "libsql" }),
  ];
  for (const inbox of inboxes) {
    const emulator = createEmulator();
    const receiver = createReceiver({
      client: createClient(emulator.clientOptions),
      inbox,
      logger: false,
    });
    const seen = [];
    receiver.on("report.complete", (event) => void seen.push(event.reportId));
    for (const signature of ["valid", "invalid"]) {
      const sent = emulator.notification("report.complete", { reportId: "r-1", signature });
      const answer = await receiver.fetch(new Request("https://app.example/hook", sent));
      assert.equal(answer.status, 200);
    }
    await receiver.idle();
    assert.deepEqual(seen, ["r-1"]);
    await receiver.close();
  }
  for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
  console.log(`received with Node ${process.version}`);
};
