import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { bullmqInbox } from "@reporthook/bullmq";
import { createClient, createReceiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { testWith } from "@reporthook/test-support/needs";
import { patient } from "@reporthook/test-support/patient";
import { programOf } from "@reporthook/test-support/program";
import { noPostgres, noRedis, startPostgres, startRedis } from "@reporthook/test-support/servers";
import { PostgresConnection } from "bullmq";
import { expect } from "vitest";

const program = await programOf(new URL("../../../packages/cli/src/main.ts", import.meta.url));

async function cli(...args: string[]) {
  return cliWith({}, ...args);
}

async function cliWith(env: Record<string, string>, ...args: string[]) {
  const run = promisify(execFile)(process.execPath, [program, ...args], {
    env: { ...process.env, ...env },
  });
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout, stderr }) => ({ code, out: String(stdout), err: String(stderr) }),
  );
}

testWith(noRedis)(
  "the command line shows and releases deliveries in queues, settles reports, and prints no password",
  async () => {
    const server = await startRedis(["--requirepass", "open-sesame"]);
    const url = server.url.replace("redis://", "redis://:open-sesame@");
    const emulator = createEmulator();
    const receiver = createReceiver({
      client: createClient(emulator.clientOptions),
      inbox: bullmqInbox({ connection: url, logger: false }),
      callback: { secrets: ["0123456789abcdef0123456789abcdef"], url: "https://app.example/hook" },
      logger: false,
      ...patient,
    });
    const handled: string[] = [];
    receiver.on("report.complete", (event) => void handled.push(event.id));
    await receiver.start();
    const unsigned = emulator.notification("report.complete", { signature: "none" });
    const answer = await receiver.fetch(new Request("https://app/hook", unsigned));
    const { id } = (await answer.json()) as { id: string };

    const results = await Promise.all([
      cli("inbox", "list", "--state", "parked", "--inbox", url, "--json"),
      cli("inbox", "show", id, "--inbox", url),
      cliWith({ REPORTS_INBOX: url }, "inbox", "stats"),
      cli("inbox", "show", "no-such", "--inbox", url),
      cli("inbox", "list", "--inbox", url.replace("open-sesame", "wrong")),
      cli("inbox", "list", "--inbox", url.replace("redis:", "mysql:")),
      cli("inbox", "list", "--inbox", url, "--prefix", "a-b"),
    ]);
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 1, 1, 2, 2]);
    expect(results.at(-1)?.err).toMatch(/^reporthook: --prefix must be .* dots or underscores$/m);
    expect(JSON.parse(results[0]?.out ?? "").entries).toMatchObject([{ id, state: "held" }]);
    expect(results[2]?.out).toContain("1 unsigned");
    results.push(await cli("inbox", "release", id, "--inbox", url));
    await receiver.idle({ timeoutMs: 60_000 });
    expect(handled).toEqual([id]);

    const { id: requestId } = await receiver.reports.request({ domains: ["ada.example"] });
    const reports = async (...args: string[]) => {
      const result = await cli("reports", ...args, "--inbox", url, "--json");
      results.push(result);
      return { code: result.code, value: JSON.parse(result.out) as unknown };
    };
    const found = { id: requestId, state: "open", report: { domains: ["ada.example"] } };
    expect((await reports("list")).value).toMatchObject({ requests: [found] });
    expect((await reports("show", requestId)).value).toMatchObject({ ...found, deliveries: null });
    const settled = { id: requestId, settled: true };
    expect(await reports("settle", requestId, "complete")).toEqual({ code: 0, value: settled });
    await receiver.idle({ timeoutMs: 60_000 });
    expect(handled).toHaveLength(2);
    expect((await reports("settle", requestId, "complete")).code).toBe(1);
    const erase = ["inbox", "erase", "--inbox", url, "--yes", "--request-id"];
    const erased = await cli(...erase, requestId);
    expect([erased.code, erased.err]).toEqual([
      1,
      expect.stringMatching(/Erased 1 request, and n/),
    ]);
    expect(await receiver.reports.get(requestId)).toMatchObject({ state: "complete", report: {} });
    const none = await cli(...erase, "0".repeat(26));
    expect([none.code, none.err]).toEqual([1, expect.stringContaining("BullMQ can't look")]);
    const unknown = await cli(...erase, "no-such");
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining("id no-such")]);

    const dashboard = [program, "dashboard", "--inbox", url, "--port", "0", "--json"];
    const page = spawn(process.execPath, dashboard);
    const [line] = await once(page.stdout, "data");
    const told = JSON.parse(String(line)) as { url: string };
    expect(told).toMatchObject({ url: expect.any(String) });
    const { url: shown } = told;
    const overview = await fetch(`${shown}api/overview`);
    expect(await overview.text()).toContain('"handled":2');
    const searched = await fetch(`${shown}api/deliveries?event=report.complete`);
    expect(searched.status).toBe(400);
    expect(await searched.json()).toMatchObject({ code: "not_searchable" });
    page.kill();
    await once(page, "exit");
    expect(JSON.stringify([...results, String(line)])).not.toContain("open-sesame");
    await receiver.close();
    await server.stop();
  },
);

testWith(noPostgres)("the command line makes no tables in a database that has none", async () => {
  const server = await startPostgres();
  const { pool } = new PostgresConnection({ connectionString: server.url });
  const schemas = async (): Promise<unknown[]> =>
    (await pool.query("SELECT FROM pg_namespace WHERE nspname = 'bullmq'")).rows;
  const list = await cli("inbox", "list", "--inbox", server.url);
  expect(list.code).toBe(1);
  expect(list.err).toContain("the app makes them when it opens the inbox without migrate: false");
  expect(await schemas()).toHaveLength(0);
  const inbox = bullmqInbox({ connection: server.url, logger: false });
  await inbox.open();
  await inbox.close();
  expect(await schemas()).toHaveLength(1);
  expect(await cli("inbox", "list", "--inbox", server.url)).toMatchObject({ code: 0 });
  await pool.end();
  await server.stop();
});

testWith(noRedis)("the command line looks at a server that takes no writes", async () => {
  const server = await startRedis();
  const inbox = bullmqInbox({ connection: server.url, logger: false });
  await inbox.open();
  await inbox.close();
  const [host, port] = new URL(server.url).host.split(":");
  const redis = (...args: string[]) => spawnSync("redis-cli", ["-p", `${port}`, ...args]);
  redis("REPLICAOF", `${host}`, "1");
  expect(await cli("inbox", "list", "--inbox", server.url)).toMatchObject({ code: 0 });
  await server.stop();
});
