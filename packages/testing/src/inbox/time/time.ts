import { createReceiver, DoNotRetry, type Inbox, type Receiver } from "@reporthook/core";
import { same } from "../../assert.ts";
import { type ManualClock, manualClock } from "../../manual-clock.ts";
import type { InboxCase, InboxFixture } from "../fixture.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The option `clock` of a receiver: virtual, and set to another time by hand. */
interface WrongClock {
  readonly clock: Pick<ManualClock, "now" | "setTimeout" | "clearTimeout">;
  /** Lets time pass. */
  advance(ms: number): void;
  /** Shows the right time and so many milliseconds more. */
  set(ms: number): void;
}

/** A receiver on the store of a case. */
interface Running {
  readonly receiver: Receiver;
  /** How often the service was asked. */
  readonly asked: () => number;
  /** How often the handler ran. */
  readonly runs: () => number;
  /** The warnings. */
  readonly warnings: readonly string[];
  send(): Promise<string>;
}

function wrongClock(): WrongClock {
  const { now, advance, setTimeout, clearTimeout } = manualClock();
  let wrongMs = 0;
  return {
    clock: { now: () => now() + wrongMs, setTimeout, clearTimeout },
    advance,
    set(ms) {
      wrongMs = ms;
    },
  };
}

let sent = 0;

/** Starts a receiver whose handler fails `failures` times, and then parks what it is given if told so. */
async function run(
  inbox: Inbox,
  { clock }: WrongClock,
  options: { readonly failures?: number; readonly parks?: boolean; readonly silent?: boolean } = {},
): Promise<Running> {
  const { failures = 0, parks = false, silent = false } = options;
  let [asked, runs] = [0, 0];
  const warnings: string[] = [];
  const receiver = createReceiver({
    client: {
      authorize: async () => {
        asked++;
        if (silent && asked === 1) throw new Error("no answer");
        return "valid";
      },
    },
    ...{ inbox, clock, retry: { attempts: 10, minMs: 1_000, maxMs: 1_000 } },
    logger: { warn: (_fields, message) => void warnings.push(message), error: () => {} },
  });
  receiver.on("*", () => {
    if (++runs <= failures) throw new Error("not yet");
    if (parks) throw new DoNotRetry("no");
  });
  await receiver.start();
  const send = async (): Promise<string> => {
    const headers = { "content-type": "application/json", "x-svc-authorization": `s-${++sent}` };
    const body = JSON.stringify({ status: "complete", report_id: `r-${sent}` });
    const init = { method: "POST", headers, body };
    const response = await receiver.fetch(new Request("https://app.example/hook", init));
    same(response.status, 200, "How it is answered");
    return ((await response.json()) as { readonly id: string }).id;
  };
  return { receiver, asked: () => asked, runs: () => runs, warnings, send };
}

/** Lets time pass, ten minutes at most, until `check` holds: a wrong clock would have it wait longer. */
async function soon(
  { until }: InboxFixture,
  { advance }: WrongClock,
  check: () => boolean,
  what: string,
): Promise<void> {
  let left = 600;
  await until(() => {
    if (check()) return true;
    if (left-- > 0) advance(1_000);
    return check();
  }, what);
}

/** Resolves to the ids of all that is parked, after pruning. */
async function parked({ receiver }: Running): Promise<readonly string[]> {
  return (await receiver.inbox.list({ state: "parked" })).map(({ id }) => id);
}

/** Parks one; resolves to its id. */
async function park({ until }: InboxFixture, running: Running): Promise<string> {
  const id = await running.send();
  await until(async () => (await running.receiver.inbox.get(id))?.state === "dead", "it is parked");
  return id;
}

/** The promises about clocks that are set while a receiver works, or between two. */
export const time: readonly InboxCase[] = [
  {
    name: "a clock that is 31 days ahead for a moment deletes nothing, and is one warning",
    needs: ["clock", "ticks"],
    async run(fixture) {
      const clock = wrongClock();
      const running = await run(fixture.inbox, clock, { parks: true });
      const first = await park(fixture, running);
      clock.advance(2 * hourMs);
      clock.set(31 * dayMs);
      const second = await park(fixture, running);
      same(await parked(running), [first, second].sort(), "What is kept while it is wrong");
      clock.set(0);
      clock.advance(2 * minuteMs);
      same(new Set(await parked(running)), new Set([first, second]), "What is kept afterwards");
      const told = running.warnings.filter((line) => line.includes("clock was set"));
      same(told.length > 0, true, "Whether a warning says so");
      clock.advance(29 * dayMs);
      same((await parked(running)).length, 2, "What is kept until the notice is over");
      clock.advance(5 * dayMs);
      same(await parked(running), [], "What is kept after its retention");
      await running.receiver.close();
    },
  },
  {
    name: "a clock that begins in 1970 and is set right keeps parked deliveries for their whole retention",
    needs: ["clock", "ticks"],
    async run(fixture) {
      const clock = wrongClock();
      const before = await run(fixture.inbox, clock, { parks: true });
      const id = await park(fixture, before);
      await before.receiver.close();
      clock.set(-clock.clock.now());
      const running = await run(fixture.inbox, clock);
      clock.advance(minuteMs);
      clock.set(0);
      await running.send();
      clock.advance(29 * dayMs);
      same(await parked(running), [id], "What is kept after 29 days");
      clock.advance(5 * dayMs);
      same(await parked(running), [], "What is kept after the notice");
      await running.receiver.close();
    },
  },
  {
    name: "a clock that was ahead at the start takes nothing off the retention once it is set right",
    needs: ["clock"],
    async run(fixture) {
      const clock = wrongClock();
      const before = await run(fixture.inbox, clock, { parks: true });
      const id = await park(fixture, before);
      await before.receiver.close();
      clock.set(31 * dayMs);
      const running = await run(fixture.inbox, clock);
      clock.advance(10 * minuteMs);
      same(await parked(running), [id], "What is kept while nobody knows the time");
      clock.set(0);
      await running.send();
      await fixture.until(() => running.runs() === 1, "the other is handled");
      clock.advance(2 * hourMs);
      same(await parked(running), [id], "What is kept once it is right");
      await running.receiver.close();
      const after = await run(fixture.inbox, clock);
      clock.advance(2 * hourMs);
      same(await parked(after), [id], "What is kept in the next process");
      await after.receiver.close();
    },
  },
  ...[hourMs, 5 * 365 * dayMs, -8 * hourMs].map(
    (ms): InboxCase => ({
      name: `a retry comes after its own delay when it is planned by a clock that is off by ${ms / hourMs} hours`,
      needs: ["clock"],
      async run(fixture) {
        const clock = wrongClock();
        const running = await run(fixture.inbox, clock, { failures: 1 });
        clock.set(ms);
        const id = await running.send();
        const failed = async () => (await running.receiver.inbox.get(id))?.lastError !== null;
        await fixture.until(failed, "it has failed once");
        clock.set(0);
        await soon(fixture, clock, () => running.runs() === 2, "it runs again");
        await running.receiver.close();
      },
    }),
  ),
  {
    name: "a retry comes after its own delay when the clock is set back before the next process begins",
    needs: ["clock"],
    async run(fixture) {
      const clock = wrongClock();
      clock.set(8 * hourMs);
      const before = await run(fixture.inbox, clock, { failures: 1 });
      const id = await before.send();
      const failed = async () => (await before.receiver.inbox.get(id))?.lastError !== null;
      await fixture.until(failed, "it has failed once");
      const closing = before.receiver.close();
      await fixture.patiently(closing, "close()");
      clock.set(0);
      const running = await run(fixture.inbox, clock);
      // An inbox in memory has it run once more at the end of the first.
      await soon(fixture, clock, () => before.runs() + running.runs() === 2, "it runs again");
      await running.receiver.close();
    },
  },
  {
    name: "close() of an inbox in memory tries waiting deliveries once more, though the clock was ahead at the start",
    needs: ["clock"],
    async run(fixture) {
      const { inbox, until, patiently } = fixture;
      const clock = wrongClock();
      clock.set(31 * dayMs);
      const running = await run(inbox, clock, { failures: 1 });
      clock.set(0);
      const id = await running.send();
      const failed = async () => (await running.receiver.inbox.get(id))?.lastError !== null;
      await until(failed, "it has failed once");
      await patiently(running.receiver.close(), "close()");
      const isLost = inbox.guarantees.durability === "process";
      same(running.runs(), isLost ? 2 : 1, "How often it ran");
    },
  },
  {
    name: "a call that went unanswered while the clock was ahead is made again within seconds",
    needs: ["clock"],
    async run(fixture) {
      const clock = wrongClock();
      const running = await run(fixture.inbox, clock, { silent: true });
      clock.set(hourMs);
      const id = await running.send();
      const failed = async () => (await running.receiver.inbox.get(id))?.lastError !== null;
      await fixture.until(failed, "there was no answer");
      clock.set(0);
      await soon(fixture, clock, () => running.asked() === 2, "it is asked about again");
      await running.receiver.close();
    },
  },
];
