import { same } from "../../assert.ts";
import type { InboxCase } from "../fixture.ts";
import { parked, parkOne, run, soon, wrongClock } from "./wrong-clock.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The promises about clocks that are set while a receiver works, or between two. */
export const time: readonly InboxCase[] = [
  {
    name: "a clock that is 31 days ahead for a moment deletes nothing, and is one warning",
    needs: ["clock", "ticks"],
    async run(fixture) {
      const clock = wrongClock();
      const running = await run(fixture.inbox, clock, { parks: true });
      const first = await parkOne(fixture, running);
      // Between two ticks: at the next one it is right again.
      clock.advance(2 * hourMs + 10_000);
      same(await parked(running), [first], "What is kept before");
      clock.set(31 * dayMs);
      const second = await parkOne(fixture, running);
      same(await parked(running), [first, second].sort(), "What is kept while it is wrong");
      clock.set(0);
      clock.advance(2 * minuteMs);
      same(new Set(await parked(running)), new Set([first, second]), "What is kept afterwards");
      const told = running.warnings.filter((line) => line.includes("clock was set"));
      same(told.length, 1, "How many warnings say so");
      clock.advance(29 * dayMs);
      same((await parked(running)).length, 2, "What is kept until the notice is over");
      clock.advance(5 * dayMs);
      same(await parked(running), [], "What is kept after its retention");
      await running.receiver.close();
    },
  },
  ...[31, -31].map(
    (days): InboxCase => ({
      name: `a copy is a duplicate before, while and after a clock is off by ${days} days for a moment`,
      needs: ["clock", "ticks"],
      async run(fixture) {
        const clock = wrongClock();
        const running = await run(fixture.inbox, clock);
        const before = await running.send("before");
        await fixture.until(() => running.runs() === 1, "it is handled");
        clock.advance(minuteMs + 10_000);
        clock.set(days * dayMs);
        same(await running.send("before"), before, "A copy that comes meanwhile");
        const meanwhile = await running.send("meanwhile");
        same(await running.send("meanwhile"), meanwhile, "A copy of one that came meanwhile");
        clock.advance(2_000);
        clock.set(0);
        same(await running.send("before"), before, "A copy that comes afterwards");
        clock.advance(2 * minuteMs);
        same(await running.send("before"), before, "A copy that comes two minutes later");
        same(await running.send("meanwhile"), meanwhile, "A copy of the other that comes then");
        await fixture.until(() => running.runs() > 1, "the other is handled");
        same(running.runs(), 2, "How often the handler ran");
        await running.receiver.close();
      },
    }),
  ),
  {
    name: "a clock that begins in 1970 and is set right keeps parked deliveries for their whole retention",
    needs: ["clock", "ticks"],
    async run(fixture) {
      const clock = wrongClock();
      const before = await run(fixture.inbox, clock, { parks: true });
      const id = await parkOne(fixture, before);
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
      const id = await parkOne(fixture, before);
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
