import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ActQuery, createReceiver, type Inbox, type Receiver } from "@reporthook/core";
import { actOn } from "@reporthook/core/store";
import { sqliteInbox } from "@reporthook/sqlite";
import { afterAll, expect, it } from "vitest";
import { createTerminal } from "../lib/terminal.ts";
import { actOnMany, lookFor } from "./many.ts";

const folder = mkdtempSync(join(tmpdir(), "reporthook-interrupt-"));
afterAll(() => rmSync(folder, { recursive: true }));

const count = 700;
const terminal = createTerminal(true, {});
const verb = { doing: "Releasing", done: "released" };

function openReceiver(file: string): Receiver {
  const client = { authorize: async () => "valid" as const };
  // All come at once, on a machine that may be busy.
  const limits = { ackMs: 120_000, bodyMs: 120_000 };
  return createReceiver({ client, inbox: sqliteInbox(file), limits, logger: false });
}

/** An inbox with more held deliveries than one step acts on; `meanwhile` and `after` run with each step. */
async function opened(
  name: string,
  meanwhile: () => void,
  after: () => void | Promise<void> = () => {},
): Promise<Inbox> {
  const receiver = openReceiver(join(folder, name));
  const headers = { "content-type": "application/json", "x-svc-authorization": "" };
  const post = async (at: number): Promise<void> => {
    headers["x-svc-authorization"] = `signature ${at}`;
    const body = JSON.stringify({ at });
    const request = new Request("http://app/", { method: "POST", headers, body });
    const response = await receiver.fetch(request);
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  };
  await Promise.all(Array.from({ length: count }, (_, at) => post(at)));
  await receiver.start();
  await receiver.idle({ timeoutMs: 60_000 });
  await receiver.close();
  const tool = sqliteInbox(join(folder, name), { migrate: false });
  const act = tool.act.bind(tool);
  return Object.assign(tool, {
    async *act(query: ActQuery) {
      for await (const step of act(query)) {
        meanwhile();
        yield step;
        await after();
      }
    },
  });
}

const query = (): ActQuery => ({
  act: "release",
  receiver: "reports",
  reason: "no_handler",
  now: Date.now(),
  by: null,
});

it.each(["SIGINT", "SIGTERM"] as const)(
  "a %s between two steps says how many are done, and leaves the rest",
  async (signal) => {
    const inbox = await opened(`${signal}.db`, () => process.emit(signal));
    const acting = actOnMany(terminal, inbox, verb, { query: query(), yes: true });
    await expect(acting).rejects.toMatchObject({
      code: "interrupted",
      message: "Interrupted: 500 released, the rest is as it was",
      done: { released: 500 },
    });
    expect(await inbox.counts()).toMatchObject({ held: count - 500, verified: 500 });
    expect(process.listenerCount(signal)).toBe(0);
    await inbox.close();
  },
);

it("an inbox that fails between two steps says how many are done", async () => {
  const fail = () => {
    throw new Error("disk I/O error");
  };
  const inbox = await opened("fails.db", () => {}, fail);
  await expect(
    actOnMany(terminal, inbox, verb, { query: query(), yes: true }),
  ).rejects.toMatchObject({
    message: "disk I/O error: 500 released, the rest is as it was",
    done: { released: 500 },
  });
  await inbox.close();
});

it("an act leaves deliveries alone that change while they are counted, and no others", async () => {
  const file = join(folder, "changes.db");
  let step = 0;
  const change = async () => {
    if (step++ > 0) return;
    const [first, last] = [await inbox.list({ limit: 1 }), await inbox.list({ newestFirst: true })];
    const receiver = openReceiver(file);
    await receiver.start();
    for (const [entry] of [first, last]) {
      await receiver.inbox.release(`${entry?.id}`);
      await receiver.idle({ timeoutMs: 60_000 });
    }
    await receiver.close();
  };
  const inbox = await opened("changes.db", () => {}, change);
  const asked = query();
  const { total, changedAt } = await lookFor(inbox, asked);
  expect(total).toBe(count);
  const unchangedSince = changedAt ?? undefined;
  expect((await actOn(inbox, { ...asked, unchangedSince })).total).toBe(count - 2);
  await inbox.close();
});

it("an act for which nothing was shown leaves alone what is parked right after", async () => {
  const inbox = await opened("after.db", () => {});
  const { act } = inbox;
  const nothing: typeof act = async function* () {};
  inbox.act = (asked) => (asked.dryRun === true ? nothing(asked) : act(asked));
  expect(await actOnMany(terminal, inbox, verb, { query: query(), yes: false })).toBe(0);
  expect(await inbox.counts()).toMatchObject({ held: count, verified: 0 });
  await inbox.close();
});
