import type { ReasonCode, Selection } from "@reporthook/core";
import { unvouchedReasons } from "@reporthook/core/store";
import { same } from "../../assert.ts";
import {
  endedAs,
  handled,
  type InboxCase,
  type InboxFixture,
  later,
  putMany,
  valid,
} from "../fixture.ts";
import { oneInEachState, unsigned } from "./retaining.ts";

const minuteMs = 60_000;
const many = 1_100;

/** The promises of `act` about selections: compared with each entry in the step that changes it. */
export const acting: readonly InboxCase[] = [
  {
    name: "act() leaves deliveries alone that have changed after the moment that a selection names",
    async run(fixture) {
      const { inbox, act, work } = fixture;
      const ids = await park(fixture, "expired", "expired", "expired", "expired");
      const [released = "", again = "", other = "", kept = ""] = ids;
      const shown = await inbox.list({ reason: "expired" });
      const newest = Math.max(...shown.map(({ changedAt }) => changedAt.getTime()));
      const selection: Selection = { reason: "expired", unchangedSince: new Date(newest) };
      await laterThan(fixture, newest);
      await act("release", released);
      await work("handle", handled);
      await act("release", again);
      await work("handle", endedAs("held", "expired"));
      await act("release", other);
      await work("handle", endedAs("dead", "do_not_retry"));
      same(await act("discard", selection, { dryRun: true }), 1, "How many are still as shown");
      same(await act("discard", selection), 1, "How many were discarded");
      const left = await Promise.all(ids.map((id) => inbox.get(id)));
      const states = left.map((entry) => entry?.state ?? null);
      same(states, ["handled", "held", "dead", null], "What became of them");
      same(await inbox.get(kept), null, "The one as shown");
      same(await act("release", selection), 0, "How many are left");
    },
  },
  {
    name: "act() with dryRun counts by reason, tells when the last changed, and changes nothing",
    async run(fixture) {
      const { inbox, clock } = fixture;
      await park(fixture, "no_handler", "do_not_retry", "no_handler", "expired");
      const before = await inbox.list();
      const query = { receiver: "a", now: clock.now(), by: null, dryRun: true } as const;
      const counts: Record<string, number> = {};
      const times: number[] = [];
      for await (const step of inbox.act({ ...query, act: "discard", state: "parked" })) {
        for (const [reason, count] of Object.entries(step.counts)) {
          counts[reason] = (counts[reason] ?? 0) + count;
        }
        times.push(step.changedAt?.getTime() ?? 0);
      }
      same(counts, { no_handler: 2, do_not_retry: 1, expired: 1 }, "How many by reason");
      const newest = Math.max(...before.map(({ changedAt }) => changedAt.getTime()));
      same(Math.max(...times), newest, "When the last of them changed");
      same(await inbox.list(), before, "The entries after it");
    },
  },
  {
    name: "act() finds nothing in a state that it is not for, whatever else is chosen",
    async run(fixture) {
      const { inbox, clock } = fixture;
      await park(fixture, "no_handler");
      const asked = { receiver: "a", now: clock.now(), by: null, state: "held" } as const;
      for (const rest of [{}, { reason: "no_handler" }, { type: "report.complete" }] as const) {
        for await (const { counts } of inbox.act({ ...asked, ...rest, act: "retry" })) {
          same(counts, {}, "The parked ones that are retried");
        }
      }
    },
  },
  {
    name: "act() leaves a delivery alone that was held as it came, after the list was shown",
    async run({ inbox, act, put }) {
      await put({ signature: null, arrival: unsigned });
      const [shown] = await inbox.list({ reason: "unsigned" });
      const came = await put({ signature: null, arrival: unsigned });
      const selection: Selection = { reason: "unsigned", unchangedSince: shown?.changedAt };
      same(await act("discard", selection), 1, "How many were discarded");
      same((await inbox.get(came))?.state, "held", "The one that came later");
    },
  },
  {
    name: "act() releases unvouched deliveries by a state only when their reason is named",
    async run(fixture) {
      const { inbox, act } = fixture;
      await park(fixture, ...unvouchedReasons, "no_handler");
      same(await act("release", { state: "held" }), 1, "How many by their state");
      same((await inbox.counts("a")).held, unvouchedReasons.length, "How many are left");
      same(await act("release", { reason: "expired" }), 1, "How many by their reason");
      same(await act("discard", { state: "held", reason: "not_verified" }), 1, "Discarded by it");
      const rest = unvouchedReasons.length - 2;
      same(
        await act("discard", { state: "parked" }),
        rest,
        "How many are discarded by their state",
      );
    },
  },
  {
    name: "act() chooses by all that a list chooses by",
    async run(fixture) {
      const { inbox, act, clock, put, work } = fixture;
      const now = clock.now();
      const ids: string[] = [];
      for (const ago of [3, 2, 1]) {
        ids.push(await put({ at: now - ago * minuteMs, requestId: `q-${ago}` }));
      }
      const types = ["report.complete", "report.processing", "report.complete"] as const;
      const reports = new Map(ids.map((id, index) => [id, index]));
      await work(
        "verify",
        ...ids.map(() => ({ id }: { readonly id: string }) => {
          const index = reports.get(id) ?? 0;
          return { ...valid, type: types[index], reportId: `r-${index}` } as typeof valid;
        }),
      );
      await work("handle", ...ids.map(() => endedAs("held", "no_handler")));
      const count = (selection: Selection, receiver = "a") =>
        act("release", selection, { dryRun: true, receiver });
      same(await count({ state: "held" }), 3, "By state");
      same(await count({ state: "dead" }), 0, "By another state");
      same(await count({ type: "report.complete", state: "parked" }), 2, "By event");
      same(await count({ reportId: "r-1", state: "parked" }), 1, "By report");
      same(await count({ requestId: "q-3", state: "parked" }), 1, "By request");
      const from = new Date(now - 2 * minuteMs);
      same(await count({ from, state: "parked" }), 2, "From a moment on");
      same(await count({ until: from, state: "parked" }), 1, "Before a moment");
      same(await count({ idPrefix: ids[2] ?? "", state: "parked" }), 1, "By the id");
      same(await count({ state: "held" }, "b"), 0, "Of another receiver");
      const everybody = { act: "release", state: "held", now, by: null, dryRun: true } as const;
      let all = 0;
      for await (const { counts } of inbox.act(everybody)) all += counts.no_handler ?? 0;
      same(all, 3, "Of all receivers");
    },
  },
  {
    name: "act() runs handled deliveries when their state is named, and retries all that wait for a next try",
    async run(fixture) {
      const { inbox, act, put, work } = fixture;
      const ids = await oneInEachState(fixture);
      same(await act("release", { state: "handled" }), 1, "How many handled ones");
      same((await inbox.get(ids.handled))?.state, "verified", "The handled one");
      same(await act("discard", { state: "handled" }), 0, "How many handled ones are discarded");
      same(await act("retry", { state: "held" }), 0, "How many parked ones are retried");
      await put({ receiver: "c" });
      await work("handle", later(3_600_000), later(3_600_000));
      same(await act("retry", { state: "verified" }), 2, "How many are retried");
      const [first] = await work("handle", handled, handled);
      same(first?.attempts, 1, "The attempts before");
    },
  },
  {
    name: "act() goes through many deliveries in steps, meets none twice, and can be ended between two",
    async run(fixture) {
      const { inbox, clock, consume, until, patiently } = fixture;
      await putMany(fixture, many);
      const { consumer, recorded } = consume("verify", endedAs("held", "no_handler"), {
        concurrency: 100,
      });
      await until(() => recorded.length === many, "all are parked");
      await patiently(consumer.stop(), "stop()");
      const query = { receiver: "a", reason: "no_handler", now: clock.now(), by: null } as const;
      let done = 0;
      for await (const { counts } of inbox.act({ ...query, act: "release" })) {
        done = counts.no_handler ?? 0;
        break;
      }
      const held = async (): Promise<number> => (await inbox.counts("a")).held;
      same(await held(), many - done, "How many are as they were");
      // They are parked again meanwhile: those are not met again.
      const parking = consume("handle", endedAs("held", "no_handler"), { concurrency: 100 });
      const stage = consume("verify", endedAs("held", "no_handler"), { concurrency: 100 });
      const before = await held();
      let all = 0;
      for await (const { counts } of inbox.act({ ...query, act: "release" })) {
        all += counts.no_handler ?? 0;
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      same(all >= before && all <= many, true, `Whether none was met twice: ${all} of ${many}`);
      await until(async () => (await held()) === many, "all are parked again");
      await patiently(parking.consumer.stop(), "stop()");
      await patiently(stage.consumer.stop(), "stop()");
    },
  },
  {
    name: "act() notes in the history who released or retried a delivery, and when",
    async run({ inbox, act, clock, put, work }) {
      const id = await put();
      await work("verify", valid);
      const begin = clock.now();
      await work("handle", later(3_600_000));
      await act("retry", id, { by: "ada" });
      await work("handle", endedAs("dead", "do_not_retry"));
      await act("release", id);
      await work("handle", handled);
      const history = (await inbox.get(id))?.history ?? [];
      const told = history.map((item) => ("act" in item ? [item.act, item.by] : item.outcome));
      const acts = ["verified", "retry", ["retry", "ada"], "dead", ["release", null], "handled"];
      same(told, acts, "The history");
      same(
        history.every(({ at }) => at.getTime() >= begin - minuteMs),
        true,
        "Whether each has its time",
      );
    },
  },
];

/** Parks one for each reason, in this order; resolves to their ids. */
async function park(fixture: InboxFixture, ...reasons: readonly ReasonCode[]): Promise<string[]> {
  const { put, work } = fixture;
  const ids: string[] = [];
  for (const reason of reasons) {
    ids.push(await put());
    await work("verify", endedAs("held", reason, { verification: "valid" }));
  }
  return ids;
}

/** Resolves when the clock is past this moment, so that a change is later. */
async function laterThan({ inbox, clock, until }: InboxFixture, ms: number): Promise<void> {
  if (inbox.guarantees.clock === "given") clock.advance(1);
  await until(() => clock.now() > ms, "the clock has moved on");
}
