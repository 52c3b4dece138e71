import { same, sameEach } from "../assert.ts";
import { deferred } from "../deferred.ts";
import { handled, type InboxCase, later, valid } from "./fixture.ts";

const minuteMs = 60_000;

/** The promises of `consume` about claiming: which delivery, and when. */
export const claiming: readonly InboxCase[] = [
  {
    name: "consume() hands out each entry to exactly one worker",
    async run({ inbox, put, consume, until }) {
      const ids: string[] = [];
      for (let count = 0; count < 200; count++) ids.push(await put());
      const workers = [1, 2].map(() => consume("verify", valid, { concurrency: 4 }));
      await until(async () => (await inbox.counts("a")).verified === 200, "all are verified");
      const handed = workers.flatMap(({ jobs }) => jobs.map(({ id }) => id));
      same(handed.sort(), ids.sort(), "What was handed out");
      await Promise.all(workers.map(({ consumer }) => consumer.stop()));
    },
  },
  {
    name: "consume() hands out deliveries that were stored before, and those that come later",
    async run({ put, consume, until }) {
      const first = await put();
      const { jobs } = consume("verify", valid);
      await until(() => jobs.length === 1, "the first is handed out");
      const second = await put();
      await until(() => jobs.length === 2, "the second is handed out");
      sameEach(jobs, "id", [first, second], "What was handed out");
    },
  },
  {
    name: "consume() runs as many at once as it may, each stage by itself",
    async run({ inbox, put, consume, until, patiently }) {
      for (let count = 0; count < 10; count++) await put();
      const doors = Array.from({ length: 10 }, () => deferred());
      let [now, most] = [0, 0];
      const verifying = consume(
        "verify",
        async (): Promise<typeof valid> => {
          const door = doors[verifying.jobs.length - 1];
          most = Math.max(most, ++now);
          await door?.promise;
          now--;
          return valid;
        },
        { concurrency: 3 },
      );
      await until(() => verifying.jobs.length === 3, "three run");
      same(verifying.consumer.running, 3, "How many run");
      const handling = consume("handle", handled, { concurrency: 2 });
      doors[1]?.resolve();
      await until(() => handling.jobs.length === 1, "one is handled while others are verified");
      await until(() => verifying.jobs.length === 4, "a fourth one runs");
      for (const { resolve } of doors) resolve();
      await until(async () => (await inbox.counts("a")).handled === 10, "all are handled");
      same(most, 3, "How many ran at once");
      await patiently(Promise.all([verifying.consumer.stop(), handling.consumer.stop()]), "stop()");
      same(verifying.consumer.running, 0, "How many run in the end");
    },
  },
  {
    name: "consume() hands out only entries of its stage and its receiver",
    async run({ inbox, put, work, consume, until }) {
      await put({ receiver: "b" });
      const id = await put();
      const handling = consume("handle", handled);
      const [job] = await work("verify", valid);
      same(job?.id, id, "What was handed out");
      await until(async () => (await inbox.counts("a")).handled === 1, "it is handled");
      sameEach(handling.jobs, "stage", ["handle"], "What was handed out to handle");
      same((await inbox.counts("b")).received, 1, "What waits for the other receiver");
    },
  },
  {
    name: "consume() has the newest verified first while its signature may be valid, then deprioritized ones, then those with an expired one",
    needs: ["order", "clock"],
    async run({ clock, put, work }) {
      const at = (ms: number) => put({ at: clock.now() - ms });
      const polite = await at(2_000);
      await work("verify", later(0, { lastTurnAt: 0 }));
      const [late, young, old] = [await at(6 * minuteMs), await at(1_000), await at(4 * minuteMs)];
      const middle = await at(minuteMs);
      const jobs = await work("verify", valid, valid, valid, valid, valid);
      sameEach(jobs, "id", [young, middle, old, polite, late], "The order");
    },
  },
  {
    name: "consume() has a delivery whose signature expires while it waits verified after the others",
    needs: ["order", "clock"],
    async run({ clock, put, work }) {
      const old = await put();
      clock.advance(4 * minuteMs);
      const young = await put();
      clock.advance(2 * minuteMs);
      const jobs = await work("verify", valid, valid);
      sameEach(jobs, "id", [young, old], "The order");
    },
  },
  {
    name: "consume() has deprioritized deliveries verified after all others, and does not count them as unverified",
    needs: ["order"],
    async run({ inbox, put, work }) {
      const first = await put();
      await work("verify", later(0, { lastTurnAt: 0 }));
      same(inbox.backlog("a").unverified, 0, "How many count as unverified");
      await work("verify", later(0));
      same(
        inbox.backlog("a").unverified,
        0,
        "How many count, after an outcome that says nothing of it",
      );
      same(inbox.backlog("a").waiting, 1, "How many wait");
      const others = [await put(), await put()];
      const jobs = await work("verify", valid, valid, valid);
      sameEach(jobs, "id", [...others, first], "The order");
    },
  },
  {
    name: "consume() has deprioritized deliveries verified in turn: the one first whose last turn is longest ago, whenever it comes due",
    needs: ["order", "clock"],
    async run({ clock, put, work }) {
      const at = (ms: number) => put({ at: clock.now() - ms });
      const ids = [await at(2_000), await at(minuteMs), await at(1_000)];
      const start = clock.now();
      const turn = (ms: number) => later(10 - ms, { lastTurnAt: start + ms });
      await work("verify", turn(2), turn(3), turn(1));
      clock.advance(10);
      const first = await at(3 * minuteMs);
      const jobs = await work("verify", valid, valid, valid, valid);
      sameEach(jobs, "id", [first, ids[1], ids[2], ids[0]], "The order");
      const [older, newer] = [await at(2_000), await at(1_000)];
      await work("verify", later(0, { lastTurnAt: 2 }), later(0, { lastTurnAt: 1 }));
      const atOnce = await work("verify", valid, valid);
      sameEach(atOnce, "id", [older, newer], "The order of those that are due at once");
    },
  },
  {
    name: "consume() has entries handled in the order in which they come due",
    needs: ["order", "clock"],
    async run({ clock, put, work }) {
      const ids: string[] = [];
      for (let count = 0; count < 3; count++) {
        ids.push(await put());
        await work("verify", valid);
        clock.advance(1);
      }
      await work("handle", later(3_000), later(1_000), later(2_000));
      clock.advance(5_000);
      const last = await put();
      await work("verify", valid);
      const jobs = await work("handle", handled, handled, handled, handled);
      sameEach(jobs, "id", [ids[1], ids[2], ids[0], last], "The order");
    },
  },
  {
    name: "consume() hands out nothing before it is due",
    needs: ["clock"],
    async run({ inbox, clock, put, work, consume, until }) {
      const id = await put();
      await work("verify", valid);
      await work("handle", later(minuteMs));
      const due = clock.now() + minuteMs;
      same((await inbox.get(id))?.nextAttemptAt, new Date(due), "When the next attempt is due");
      const { jobs } = consume("handle", handled);
      consume("verify", valid);
      clock.advance(minuteMs - 1);
      const sentinel = await put();
      await until(async () => (await inbox.get(sentinel))?.state === "handled", "another is done");
      sameEach(jobs, "id", [sentinel], "What was handed out before");
      clock.advance(1);
      await until(() => jobs.length === 2, "it is handed out when due");
      same(jobs[1]?.id, id, "What was handed out then");
    },
  },
  {
    name: "consume() hands out a delivery that waits to be verified again at most 10 seconds after the consumer began",
    needs: ["clock"],
    async run({ clock, put, work, consume, until }) {
      const id = await put();
      await work("verify", later(60 * minuteMs));
      const { jobs } = consume("verify", valid);
      const sentinel = await put();
      await until(() => jobs.length === 1, "another is handed out");
      clock.advance(10_000);
      await until(() => jobs.length === 2, "it is handed out");
      const handedOut = jobs.map((job) => job.id);
      same(handedOut, [sentinel, id], "What was handed out");
    },
  },
];
