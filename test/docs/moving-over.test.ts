import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Server } from "node:http";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ServerType } from "@hono/node-server";
import { memoryInbox, type Receiver } from "@reporthook/core";
import { createEmulator, type Emulator, type NotificationOptions } from "@reporthook/emulator";
import { listenLocally } from "@reporthook/test-support/listening";
import { missingProgram, testWith } from "@reporthook/test-support/needs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Options } from "./moving-over/by-hand.ts";
import { startShop as expressAfter } from "./moving-over/express/after.ts";
import { startShop as expressBefore } from "./moving-over/express/before.ts";
import { startShop as honoAfter } from "./moving-over/hono/after.ts";
import { startShop as honoBefore } from "./moving-over/hono/before.ts";
import { startShop as koaAfter } from "./moving-over/koa/after.ts";
import { startShop as koaBefore } from "./moving-over/koa/before.ts";
import { createReports } from "./moving-over/reports.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A shop as it was started before, or is started with a receiver. */
type StartShop = (options: Options) => Server;
const movedOver =
  (start: (receiver: Receiver) => ServerType): StartShop =>
  ({ serviceUrl: baseUrl, apiKey, publish }) =>
    start(createReports({ baseUrl, apiKey }, memoryInbox(), publish)) as Server;

/** The outcome of each row of the table in docs/moving-over.md: the answer, and how often it is published. */
const rows = {
  genuine: { row: "the answer", before: [200, 1], after: [200, 1] },
  forged: { row: "forged, or without a signature", before: [401, 0], after: [401, 0] },
  unsigned: { row: "forged, or without a signature", before: [401, 0], after: [401, 0] },
  "an unsigned test": { row: "the test notification, unsigned", before: [401, 0], after: [200, 0] },
  "no verdict at first": { row: "the service gives no verdict", before: [401, 0], after: [200, 1] },
  "publish throws at first": { row: "`publish` throws", before: [500, 0], after: [200, 1] },
  "sent twice": { row: "the same notification comes again", before: [200, 2], after: [200, 1] },
} as const;

/** The rows that other tests show: what they say of a crash and the API key does not depend on the route. */
const elsewhere = ["the process crashes in `publish`", "the API key", "tests"];

describe.each<[string, "before" | "after", StartShop]>([
  ["Express", "before", expressBefore],
  ["Express", "after", movedOver(expressAfter)],
  ["Koa", "before", koaBefore],
  ["Koa", "after", movedOver(koaAfter)],
  ["Hono", "before", (options) => honoBefore(options) as Server],
  ["Hono", "after", movedOver(honoAfter)],
])("%s, %s", (_, version, startShop) => {
  let emulator: Emulator;
  let server: Server;
  let base: string;
  let published: string[];
  let failing: boolean;
  const others = process.listeners("SIGTERM");

  beforeEach(async () => {
    emulator = createEmulator();
    const { url } = await emulator.listen();
    published = [];
    failing = false;
    const publish = async (reportId: string): Promise<void> => {
      if (failing) {
        failing = false;
        throw new Error("the shelf is full");
      }
      published.push(reportId);
    };
    vi.spyOn(console, "error").mockReturnValue();
    vi.spyOn(console, "warn").mockReturnValue();
    server = startShop({ serviceUrl: url, apiKey: emulator.clientOptions.apiKey, publish });
    base = await listenLocally(server);
  });
  afterEach(async () => {
    server.closeAllConnections();
    for (const end of process.listeners("SIGTERM").filter((one) => !others.includes(one))) {
      process.off("SIGTERM", end);
      await end("SIGTERM");
    }
    if (server.listening) server.close();
    await emulator.close();
    vi.restoreAllMocks();
  });

  const send = async (
    name: "report.complete" | "test_webhook_endpoint",
    options: NotificationOptions = {},
    times = 1,
  ): Promise<number> => {
    const sent = emulator.notification(name, { reportId: "r-1", ...options });
    let status = 0;
    for (let time = 0; time < times; time++) {
      status = (await fetch(`${base}/webhooks/reports`, sent)).status;
    }
    return status;
  };

  const happenings: Record<keyof typeof rows, () => Promise<number>> = {
    genuine: () => send("report.complete"),
    forged: () => send("report.complete", { signature: "invalid" }),
    unsigned: () => send("report.complete", { signature: "none" }),
    "an unsigned test": () => send("test_webhook_endpoint", { signature: "none" }),
    "no verdict at first": () => {
      emulator.fault("authorize", { status: 503, times: 1 });
      return send("report.complete");
    },
    "publish throws at first": () => {
      failing = true;
      return send("report.complete");
    },
    "sent twice": () => send("report.complete", {}, 2),
  };

  test.each(Object.entries(happenings))("an answer is as documented: %s", async (what, happen) => {
    const [status, times] = rows[what as keyof typeof rows][version];
    expect(await happen()).toBe(status);
    await expect.poll(() => published).toHaveLength(times);
  });

  test("the other routes of the shop work as they did", async () => {
    const init = {
      method: "POST",
      body: '{"id":1}',
      headers: { "content-type": "application/json" },
    };
    const answer = await fetch(`${base}/orders`, init);
    expect([answer.status, await answer.json()]).toEqual([201, { id: 1 }]);
  });
});

test("each row of the page's table has a case, with the statuses that the page tells", async () => {
  const page = await readFile(`${root}/docs/moving-over.md`, "utf8");
  const cells = [...page.matchAll(/^\| (.+) \|$/gm)].map(([, row = ""]) => row.split(/ +\| /));
  const table = new Map(cells.slice(2).map(([event = "", ...told]) => [event, told]));
  const ours = Object.values(rows);
  expect(new Set(table.keys())).toEqual(new Set([...ours.map(({ row }) => row), ...elsewhere]));
  for (const { row, before, after } of ours) {
    const told = (table.get(row) ?? []).map((text) => /^\d{3}/.exec(text)?.[0]);
    for (const [at, [status]] of [before, after].entries()) {
      expect([row, told[at] ?? String(status)]).toEqual([row, String(status)]);
    }
  }
});

testWith(missingProgram("git"))("the page shows the commits as they are", async () => {
  const page = await readFile(`${root}/docs/moving-over.md`, "utf8");
  const reports = await readFile(`${root}/test/docs/moving-over/reports.ts`, "utf8");
  expect(page).toContain(`\`\`\`ts\n${reports}\`\`\``);
  for (const framework of ["express", "koa", "hono"]) {
    const files = ["before", "after"].map(
      (name) => `test/docs/moving-over/${framework}/${name}.ts`,
    );
    const args = ["diff", "--no-index", "--no-color", "--unified=3", ...files];
    const { stdout } = await promisify(execFile)("git", args, { cwd: root }).catch(
      (differing: { stdout: string }) => differing,
    );
    // From the function on: the imports say nothing new.
    const shown = stdout.slice(stdout.indexOf("-export function"));
    expect(page).toContain(`\`\`\`diff\n${shown}\`\`\``);
  }
});
