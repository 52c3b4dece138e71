import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { sqliteInbox } from "@reporthook/sqlite";
import { gate } from "@reporthook/test-support/gate";
import { expect, onTestFinished, test } from "vitest";
import { expectUnready } from "./expect.ts";
import { makeFolder, serveFile } from "./folder.ts";
import { startLockHolder } from "./processes/lock.ts";
import {
  type Answered,
  notification,
  post,
  postUntil,
  query,
  serve,
  stored,
  until,
} from "./serve.ts";

const patientMs = 30_000;
const locked = /inbox\.db: another process holds the file for too long: look for a long/;

test("an inbox answers 503 while another process holds the lock, then 200; nothing is lost, nothing is doubled", async () => {
  const path = join(makeFolder(), "inbox.db");
  const served = await serveFile(path, { ackMs: 4_000 });
  const { url, receiver } = served;
  await until(async () => (await receiver.health()).ready, "the receiver to be ready");
  const lock = await startLockHolder(path);
  const before = await postUntil(url, 200, notification());
  await receiver.idle({ timeoutMs: patientMs });
  await lock.hold();
  // All are answered while it is held: within limits.ackMs, which is less than the lock lasts.
  const sent = Array.from({ length: 10 }, () => notification());
  const answers = await Promise.all(sent.map((one) => post(url, one)));
  for (const one of answers) {
    expect(one).toEqual({ status: 503, said: "inbox_unavailable", id: "", retryAfter: "5" });
  }
  await until(async () => {
    const isTold = served.lines.some(({ fields }) => locked.test(String(fields["error"])));
    return isTold || (await post(url, sent[0])).status !== 503;
  }, "the log to name the lock");
  expectUnready(
    await receiver.health(),
    /another process holds the file|gave no answer within 4000 ms/,
  );
  await lock.release();
  const again = await Promise.all(sent.map((one) => postUntil(url, 200, one)));
  await until(async () => (await receiver.health()).ready, "the receiver to be ready");
  await receiver.idle({ timeoutMs: patientMs });
  const found = stored(path);
  expect(found.size).toBe(11);
  expect([before, ...again].map(({ id }) => found.get(id))).toEqual(Array(11).fill(1));
  expect(served.handled.toSorted()).toEqual([...found.keys()].toSorted());
});

test("a row that can't be written fails alone: the others of its group are stored", async () => {
  const path = join(makeFolder(), "inbox.db");
  const inbox = sqliteInbox(path);
  const { url, receiver, lines, handled, close } = await serve(inbox, { ackMs: patientMs });
  onTestFinished(() => close());
  expect((await post(url)).status).toBe(200);
  await receiver.idle({ timeoutMs: patientMs });
  query(path, (_, exec) =>
    exec(
      "CREATE TRIGGER bad BEFORE INSERT ON delivery WHEN instr(CAST(NEW.body AS TEXT), 'BAD') > 0 BEGIN SELECT RAISE(ABORT, 'a bad row'); END",
    ),
  );
  const lock = await startLockHolder(path);
  const bad = { signature: "bad", body: '{"status":"complete","report_id":"BAD"}' };
  const good = Array.from({ length: 9 }, () => notification());
  const lastedTooLong = () => lines.some(({ fields }) => locked.test(String(fields["error"])));
  const sendAll = async (): Promise<Answered[]> => {
    // While the lock is held, one holds up the thread and the others wait for it together.
    await lock.hold();
    const first = post(url, good[0]);
    await until(() => inbox.backlog("reports").waiting > 0, "the first to wait");
    const others = good.slice(1).map((one) => post(url, one));
    const refused = post(url, bad);
    const allWait = () => inbox.backlog("reports").waiting >= 10;
    await until(() => allWait() || lastedTooLong(), "all to wait");
    await lock.release();
    expect(await refused).toMatchObject({ status: 503, said: "inbox_unavailable" });
    return Promise.all([first, ...others]);
  };
  let answers = await sendAll();
  // On a machine so slow that the lock lasted too long, they are sent again.
  while (lastedTooLong()) {
    await until(async () => (await receiver.health()).ready, "the receiver to be ready");
    lines.length = 0;
    answers = await sendAll();
  }
  expect(answers.map(({ status }) => status)).toEqual(Array(9).fill(200));
  const told = lines.filter(({ message }) => message.includes("Notification not stored"));
  expect(told.map(({ fields }) => fields["error"])).toEqual([
    expect.stringMatching(/inbox\.db: .*a bad row/),
  ]);
  expect((await receiver.health()).ready).toBe(true);
  await receiver.idle({ timeoutMs: patientMs });
  const found = stored(path);
  expect(found.size).toBe(10);
  expect(handled.toSorted()).toEqual([...found.keys()].toSorted());
});

/** Notes the threads that begin until the test ends. */
function watchThreads(): Worker[] {
  const threads: Worker[] = [];
  const note = (thread: Worker): void => {
    threads.push(thread);
  };
  process.on("worker", note);
  onTestFinished(() => void process.off("worker", note));
  return threads;
}

test("an inbox whose thread dies refuses deliveries that were not stored, starts a new thread, and hands out again those in work", async () => {
  const path = join(makeFolder(), "inbox.db");
  const threads = watchThreads();
  const inbox = sqliteInbox(path);
  const begun: string[] = [];
  const released = gate();
  const { url, receiver, handled, lines, close } = await serve(inbox, {
    ackMs: patientMs,
    async handle(id) {
      begun.push(id);
      if (begun.length <= 2) await released.opened;
    },
  });
  onTestFinished(() => close());
  const kept = await Promise.all([post(url), post(url)]);
  expect(kept.map(({ status }) => status)).toEqual([200, 200]);
  await until(() => begun.length === 2, "the handlers to begin");
  const lock = await startLockHolder(path);
  await lock.hold();
  const last = post(url);
  await until(() => inbox.backlog("reports").waiting === 3, "it to wait for the lock");
  // A message that is no request ends the thread, which never looks at the requests after it.
  threads[0]?.postMessage(null);
  const refused: Promise<Answered>[] = Array.from({ length: 5 }, () => post(url));
  let answered = 0;
  for (const one of [last, ...refused]) void one.then(() => answered++);
  const allWait = (): boolean => inbox.backlog("reports").waiting === 8;
  await until(() => allWait() || answered > 0, "them to wait");
  // On a machine so slow that the thread gave up the lock before, some meet the new one.
  const isSlow = !allWait();
  await lock.release();
  for (const one of await Promise.all(refused)) {
    if (isSlow && one.status === 200) kept.push(one);
    else expect(one).toEqual({ status: 503, said: "inbox_unavailable", id: "", retryAfter: "5" });
  }
  const told = lines.map(({ fields }) => String(fields["error"]));
  expect(told).toContainEqual(expect.stringMatching(/TypeError: Cannot /));
  // Nobody asks for it.
  await until(() => threads.length >= 2, "a new thread");
  released.open();
  // Stored, unless the machine is so slow that the lock lasted too long.
  if ((await last).status === 200) kept.push(await last);
  await until(() => handled.length >= 4, "them to be handled again");
  await receiver.idle({ timeoutMs: patientMs });
  kept.push(await postUntil(url, 200));
  await receiver.idle({ timeoutMs: patientMs });
  expect(kept.filter(({ id }) => !handled.includes(id))).toEqual([]);
  expect((await receiver.inbox.counts()).handled).toBe(stored(path).size);
  expect(kept.map(({ id }) => stored(path).get(id))).toEqual(kept.map(() => 1));
});
