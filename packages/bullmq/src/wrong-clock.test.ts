import { createReceiver, type Inbox, type Receiver } from "@reporthook/core";
import { onEachServer } from "@reporthook/test-support/servers";
import { afterEach, expect, it, vi } from "vitest";
import { bullmqInbox } from "./index.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const patient = { timeout: 60_000, interval: 20 };
const { now } = Date;
let [prefixes, sent] = [0, 0];

/** Sets the clock of the system, which BullMQ goes by. */
function setClock(ms: number): void {
  vi.spyOn(Date, "now").mockImplementation(() => now() + ms);
}

afterEach(() => void vi.restoreAllMocks());

onEachServer((server) => {
  const open = (prefix = `clock_${++prefixes}`): Inbox =>
    bullmqInbox({ connection: server().url, prefix, leaseMs: 10_000, logger: false });

  /** Starts a receiver whose handler succeeds `before` times, then fails `failures` times, each time to be tried again after `retryMs`. */
  async function run(inbox: Inbox, failures: number, retryMs = 300, before = 0, aheadMs = 0) {
    let runs = 0;
    const receiver = createReceiver({
      client: { authorize: async () => "valid" },
      inbox,
      logger: false,
      ...(aheadMs > 0 && {
        clock: { now: () => Date.now() + aheadMs, setTimeout, clearTimeout },
      }),
      retry: { attempts: 1_000, minMs: retryMs, maxMs: retryMs },
    });
    receiver.on("*", () => {
      if (++runs > before && runs <= before + failures) throw new Error("not yet");
    });
    await receiver.start();
    return { receiver, runs: () => runs };
  }

  async function send(receiver: Receiver): Promise<string> {
    const headers = { "content-type": "application/json", "x-svc-authorization": `s-${++sent}` };
    const init = { method: "POST", headers, body: '{"status":"complete"}' };
    const response = await receiver.fetch(new Request("https://app.example/hook", init));
    expect(response.status).toBe(200);
    return ((await response.json()) as { readonly id: string }).id;
  }

  // A later attempt may have succeeded before it is looked at.
  const failed = (receiver: Receiver, id: string) =>
    vi.waitFor(
      async () =>
        expect(JSON.stringify((await receiver.inbox.get(id))?.history)).toContain("not yet"),
      patient,
    );

  it.each([8 * hourMs, 5 * 365 * dayMs])(
    "a retry that is planned by a clock that is %i ms ahead comes after its own delay once that is right",
    async (ms) => {
      const { receiver, runs } = await run(open(), 1, 300, 1);
      // The delays are looked at once it works, and by no clock ahead: here, and in the next test.
      await send(receiver);
      await vi.waitFor(() => expect(runs()).toBe(1), patient);
      setClock(ms);
      const id = await send(receiver);
      await failed(receiver, id);
      setClock(0);
      await vi.waitFor(() => expect(runs()).toBe(3), patient);
      await receiver.close();
    },
  );

  it("a retry comes after its own delay in a process that does not know yet that another one has moved the time on", async () => {
    const prefix = `clock_${++prefixes}`;
    const start = (failures: number, aheadMs = 0) =>
      run(Object.assign(open(prefix), { identity: {} }), failures, 2_000, 0, aheadMs);
    const { receiver } = await start(0);
    await (await start(0, hourMs)).receiver.close();
    const other = await start(Number.POSITIVE_INFINITY);
    await vi.waitFor(async () => {
      await send(receiver);
      expect(other.runs()).toBeGreaterThan(0);
    }, patient);
    await other.receiver.close();
    await receiver.idle({ timeoutMs: 20_000 });
    await receiver.close();
  });

  it("a retry that was planned by a clock ahead comes after its own delay in the next process, too", async () => {
    const prefix = `clock_${++prefixes}`;
    // On a slow machine it is tried more often before the process ends.
    const before = await run(open(prefix), Number.POSITIVE_INFINITY, 300, 1);
    await send(before.receiver);
    await vi.waitFor(() => expect(before.runs()).toBe(1), patient);
    setClock(8 * hourMs);
    const id = await send(before.receiver);
    await failed(before.receiver, id);
    await before.receiver.close();
    setClock(0);
    const { receiver, runs } = await run(open(prefix), 0);
    await vi.waitFor(() => expect(runs()).toBe(1), patient);
    await receiver.close();
  });

  it("a retry does not come early because the clock is ahead", async () => {
    const { receiver, runs } = await run(open(), 1, hourMs);
    const id = await send(receiver);
    await failed(receiver, id);
    setClock(8 * hourMs);
    // Deliveries that come now are handled while BullMQ takes the first one for due.
    for (let count = 0; count < 5; count++) await send(receiver);
    await vi.waitFor(() => expect(runs()).toBe(6), patient);
    const { nextAttemptAt } = (await receiver.inbox.get(id)) ?? {};
    expect(Math.abs(Number(nextAttemptAt) - now() - 9 * hourMs)).toBeLessThan(hourMs / 2);
    // The last of them is recorded after its handler has run.
    const expected = { verified: 1, handled: 5 };
    await vi.waitFor(
      async () => expect(await receiver.inbox.counts()).toMatchObject(expected),
      patient,
    );
    await receiver.close();
  });

  it("a retry comes at once when a person wants it, with a clock set to any time", async () => {
    const { receiver, runs } = await run(open(), 1, hourMs);
    const id = await send(receiver);
    await failed(receiver, id);
    setClock(8 * hourMs);
    await vi.waitFor(() => receiver.inbox.retry(id), patient);
    await vi.waitFor(() => expect(runs()).toBe(2), patient);
    await receiver.close();
  });

  it("a clock that is 31 days ahead for a moment deletes nothing that was handled", async () => {
    const inbox = open();
    const { receiver, runs } = await run(inbox, 0);
    await send(receiver);
    await vi.waitFor(() => expect(runs()).toBe(1), patient);
    setClock(31 * dayMs);
    await send(receiver);
    await vi.waitFor(() => expect(runs()).toBe(2), patient);
    expect((await inbox.prune(new Date(now()))).deleted).toEqual({});
    await vi.waitFor(async () => expect((await receiver.inbox.counts()).handled).toBe(2), patient);
    expect((await inbox.prune(new Date(now() + 8 * dayMs))).deleted).toEqual({ handled: 2 });
    await receiver.close();
  });
});
