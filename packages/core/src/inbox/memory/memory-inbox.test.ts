import { fixtureOf } from "@reporthook/test-support/fixture";
import { testDelivery } from "@reporthook/test-support/jobs";
import { inboxContract } from "@reporthook/testing";
import { deferred, endedAs, handled, later, type Step, valid } from "@reporthook/testing/internals";
import fc from "fast-check";
import { describe, expect, it, test, vi } from "vitest";
import type { Clock } from "../../lib/time/clock.ts";
import { messages } from "../../log-messages.ts";
import {
  type EntryDetails,
  type NewDelivery,
  type Outcome,
  type State,
  states,
} from "../delivery.ts";
import type { Consumer } from "../inbox.ts";
import { memoryInbox } from "./memory-inbox.ts";

const { guarantees } = memoryInbox();
for (const { name, run } of inboxContract({ open: () => memoryInbox(), guarantees }))
  test(name, run);

const fixture = (options?: Parameters<typeof memoryInbox>[0]) => fixtureOf(memoryInbox(options));

/** A signed delivery that is made without a hash, which takes most of the time of a flood. */
function numbered(number: number, clock: Clock, body: Uint8Array = new Uint8Array()): NewDelivery {
  const key = new Uint8Array(24);
  new DataView(key.buffer).setUint32(8, number);
  const id = `${number}`.padStart(26, "0");
  const times = { receivedAt: clock.now(), arrivedAt: clock.now() };
  return testDelivery({ id, receiver: "a", key, signature: `${number}`, body, ...times });
}

describe("bounds", () => {
  it("memoryInbox() refuses options that are no positive numbers", () => {
    expect(() => memoryInbox({ maxBytes: 0 })).toThrow(/maxBytes must be a positive number, not 0/);
    const wrong = { acceptLoss: 1 } as unknown as { acceptLoss: boolean };
    expect(() => memoryInbox(wrong)).toThrow(/acceptLoss must be true or false/);
    expect(() => memoryInbox({ retention: { handledMs: Number.NaN } })).toThrow(TypeError);
    expect(() => memoryInbox({ retention: { parkedMs: "1" as never } })).toThrow(/parkedMs/);
  });

  it("add() rejects when the bodies are over maxBytes, after the oldest handled deliveries made room", async () => {
    const { inbox, put, work } = fixture({ maxBytes: 100 });
    const body = (character: string) => character.repeat(40);
    const first = await put({ body: body("a") });
    await work("verify", valid);
    await work("handle", handled);
    const second = await put({ body: body("b") });
    await put({ body: body("c") });
    expect(await inbox.get(first)).toBeNull();
    await expect(put({ body: body("d") })).rejects.toMatchObject({ code: "overloaded" });
    await work("verify", endedAs("held", "not_verified"));
    await put({ body: body("e") });
    expect(await inbox.get(second)).toBeNull();
  });

  it("the parked deliveries take at most half of maxBytes: the oldest make room, and prune() tells how many", async () => {
    const { inbox, clock, put, work } = fixture({ maxBytes: 200 });
    const ids: string[] = [];
    for (let count = 0; count < 4; count++) {
      ids.push(await put({ body: "x".repeat(40) }));
      await work("verify", valid);
      await work("handle", endedAs("dead", count < 1 ? "attempts_used_up" : "do_not_retry"));
    }
    expect((await inbox.list()).map(({ id }) => id)).toEqual(ids.slice(2));
    const told = { attempts_used_up: 1, do_not_retry: 1 };
    const now = new Date(clock.now());
    expect(await inbox.prune(now)).toMatchObject({ deleted: {}, madeRoom: told });
    expect(await inbox.prune(now)).toMatchObject({ madeRoom: {} });
    expect((await inbox.facts("a")).deleted).toEqual(told);
    await put({ body: "x".repeat(100) });
    await expect(put({ body: "x".repeat(40) })).rejects.toMatchObject({ code: "overloaded" });
    expect((await inbox.counts()).dead).toBe(2);
  });

  it("the parked deliveries over half of maxBytes leave rejected ones their content, which makes no room for them", async () => {
    const { inbox, put, work } = fixture({ maxBytes: 100 });
    const rejected = await put({ body: "x" });
    await work("verify", endedAs("rejected", "invalid_signature"));
    for (let count = 0; count < 2; count++) {
      await put({ body: "x".repeat(40) });
      await work("verify", endedAs("held", "not_verified"));
    }
    expect((await inbox.counts()).held).toBe(1);
    expect((await inbox.get(rejected))?.body).toBe("x");
  });

  it("add() counts long addresses, signatures and headers, and a rejected delivery keeps none of them", async () => {
    const { inbox, make, add, work } = fixture({ maxBytes: 10_000 });
    const long = (number: number) =>
      make({ url: "/".padEnd(2_000, `${number}`), signature: `${number}`.repeat(3_000) });
    await add(await long(1));
    await add(await long(2));
    await expect(add(await long(3))).rejects.toMatchObject({ code: "overloaded" });
    const refused = endedAs("rejected", "invalid_signature");
    await work("verify", refused, refused);
    expect((await inbox.counts()).rejected).toBe(2);
    await add(await long(4));
    await add(await long(5));
    await expect(add(await long(6))).rejects.toMatchObject({ code: "overloaded" });
  });

  it("a memoryInbox() keeps the last 1,000 handled", async () => {
    const { inbox, put, consume, until } = fixture();
    for (let count = 0; count < 1_100; count++) await put();
    consume("verify", valid, { concurrency: 100 });
    consume("handle", handled, { concurrency: 100 });
    await until(
      async () => (await inbox.counts()).verified === 0 && inbox.backlog("a").waiting === 0,
      "done",
    );
    expect((await inbox.counts()).handled).toBe(1_000);
  });

  it("a memoryInbox() is bounded when a flood of 50,000 forged deliveries comes", async () => {
    const { inbox, clock, consume, until } = fixture({ maxBytes: 5_000_000 });
    const body = new Uint8Array(1_000);
    const { jobs } = consume("verify", endedAs("rejected", "invalid_signature"), {
      concurrency: 64,
    });
    for (let count = 0; count < 50_000; count++) {
      const added = await inbox.add(numbered(count, clock, body), { to: "received" });
      if (added.status === "duplicate") expect.unreachable("none is a copy");
      const behind = () => inbox.backlog("a").waiting < 1_000;
      if (!behind()) await until(behind, "the flood is worked off");
    }
    await until(() => inbox.backlog("a").waiting === 0, "all are rejected");
    expect(jobs.length).toBe(50_000);
    expect((await inbox.counts("a")).rejected).toBe(10_000);
    const rejected = await inbox.list({ state: "rejected", limit: 20_000 });
    expect(rejected.length).toBe(10_000);
    const bodies = await Promise.all(rejected.map(async ({ id }) => (await inbox.get(id))?.body));
    expect(bodies.filter((one) => one !== null).length).toBe(1_000);
  });

  it("a memoryInbox() holds at most 10,000 that never got a verdict, and the line about the others says so", async () => {
    const { inbox, clock, consume, until } = fixture();
    consume("verify", endedAs("held", "not_verified"), { concurrency: 64 });
    for (let count = 0; count < 10_100; count++) {
      await inbox.add(numbered(count, clock), { to: "received" });
    }
    await until(() => inbox.backlog("a").waiting === 0, "all are held");
    expect(await inbox.counts("a")).toMatchObject({ received: 0, held: 10_000 });
    const { madeRoom } = await inbox.prune(new Date(clock.now()));
    expect(madeRoom).toEqual({ not_verified: 100 });
    expect(messages.parkedMadeRoom).toContain("over 10,000 without a valid verdict");
  });

  it("consume() lets the event loop breathe while it works off a backlog", async () => {
    const { inbox, put, consume, until } = fixture();
    for (let count = 0; count < 1_000; count++) await put();
    let atFirstTurn = -1;
    setTimeout(async () => {
      atFirstTurn = jobs.length;
    }, 0);
    const { jobs } = consume("verify", valid, { concurrency: 8 });
    await until(async () => (await inbox.counts()).verified === 1_000, "all are verified");
    expect(atFirstTurn).toBeLessThan(1_000);
  });

  it("consume() sets no timer for due deliveries while all its places are taken", async () => {
    const { clock, put, work, consume, until } = fixture();
    await put();
    await work("verify", later(1_000));
    await put();
    const verdict = deferred<Outcome>();
    const { jobs } = consume("verify", () => verdict.promise);
    await until(() => jobs.length === 1, "the second is worked on");
    clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(clock.pending).toBe(0);
    verdict.resolve(valid);
    await until(() => jobs.length === 2, "the first comes again");
  });

  it("consume() works on the next delivery, and stops, although the hook that is told of a result throws", async () => {
    const { inbox, clock, put, until } = fixture();
    const unhandled = vi.fn();
    process.once("unhandledRejection", unhandled);
    const told: string[] = [];
    const policy = { receiver: "a", concurrency: 1, clock, onError: () => {} };
    const onRecorded = ({ id }: { id: string }): void => {
      told.push(id);
      if (told.length === 1) throw new Error("an observer fails");
    };
    const ids = [await put(), await put()];
    const consumer = inbox.consume("verify", async () => valid, { ...policy, onRecorded });
    await until(() => told.length === 2, "both are told");
    expect(told.toSorted()).toEqual(ids.toSorted());
    await consumer.stop();
    expect(unhandled).toHaveBeenCalledOnce();
  });

  it("consume() goes on for one worker when another stops while something is not due", async () => {
    const { clock, put, work, consume, until } = fixture();
    await put();
    await work("verify", later(1_000));
    const [one, other] = [consume("verify", valid), consume("verify", valid)];
    await until(() => clock.pending === 2, "both wait");
    await one.consumer.stop();
    clock.advance(1_000);
    await until(() => other.jobs.length === 1, "the other takes it up");
  });

  it("the counts agree with a recount and the bodies stay in bounds after any sequence of calls", async () => {
    const outcome = fc.constantFrom<Step>(
      ...[
        valid,
        handled,
        later(0),
        later(60_000, { lastTurnAt: 0 }),
        later(10, { countsAsAttempt: false }),
      ],
      ...[
        endedAs("held", "no_handler"),
        endedAs("dead", "do_not_retry"),
        endedAs("held", "not_verified"),
      ],
      endedAs("rejected", "invalid_signature"),
      endedAs("held", "expired", { verification: "expired" }),
      () => Promise.reject(new Error("broken")),
    );
    const pick = fc.nat({ max: 30 });
    const operation = fc.oneof(
      fc.record({
        do: fc.constant("add" as const),
        pick,
        unsigned: fc.constantFrom(null, "held", "verified"),
      }),
      fc.record({
        do: fc.constant("work" as const),
        stage: fc.constantFrom("verify", "handle"),
        outcome,
      }),
      fc.record({ do: fc.constant("abort" as const), stage: fc.constantFrom("verify", "handle") }),
      fc.record({ do: fc.constantFrom("release" as const, "discard" as const), pick }),
      fc.record({ do: fc.constant("releaseAll" as const) }),
      fc.record({
        do: fc.constant("wait" as const),
        ms: fc.constantFrom(10, 60_000, 90_000_000, 3e9),
      }),
      fc.record({ do: fc.constant("prune" as const) }),
    );
    const maxBytes = 300;
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
        const { inbox, act, clock, make, add, consume } = fixture({ maxBytes });
        const errors: unknown[] = [];
        const tolerated = (error: { code?: unknown }): void => void errors.push(error.code);
        const run = async (stage: "verify" | "handle", step: Step, stop: "stop" | "abort") => {
          const state: State = stage === "verify" ? "received" : "verified";
          const now = clock.now();
          const due = (await inbox.list({ state })).some(
            ({ nextAttemptAt }) => Number(nextAttemptAt) <= now,
          );
          if (!due) return;
          let stopping: ReturnType<Consumer["stop"]> | undefined;
          const began = deferred();
          const { consumer } = consume(stage, (job, signal) => {
            stopping ??= consumer[stop]();
            began.resolve();
            return typeof step === "function" ? step(job, signal) : step;
          });
          await began.promise;
          await stopping;
        };
        for (const operation of operations) {
          const entries = await inbox.list({ limit: 1_000 });
          const chosen = (at: number): string => entries[at % (entries.length || 1)]?.id ?? "none";
          const now = clock.now();
          if (operation.do === "add") {
            const { pick, unsigned } = operation;
            const signature = unsigned === null ? `${pick % 3}` : null;
            const delivery = await make({ signature, body: "x".repeat(pick) });
            const verification = "unsigned" as const;
            const reason = { code: "unsigned", message: "!" } as const;
            const arrival =
              unsigned === "held"
                ? { to: unsigned, verification, reason }
                : unsigned === "verified"
                  ? { to: unsigned, verification, type: null, reportId: null }
                  : { to: "received" as const };
            await add(delivery, { arrival }).catch(tolerated);
          } else if (operation.do === "work") await run(operation.stage, operation.outcome, "stop");
          else if (operation.do === "abort") {
            await run(operation.stage, () => new Promise<Outcome>(() => {}), "abort");
          } else if (operation.do === "release") {
            await act("release", chosen(operation.pick)).catch(tolerated);
          } else if (operation.do === "discard") {
            await act("discard", chosen(operation.pick)).catch(tolerated);
          } else if (operation.do === "releaseAll") {
            await act("release", { reason: "no_handler" });
          } else if (operation.do === "wait") clock.advance(operation.ms);
          else await inbox.prune(new Date(now));

          const after = await inbox.list({ limit: 1_000 });
          const recount = Object.fromEntries(
            states.map((state) => [state, after.filter((entry) => entry.state === state).length]),
          );
          expect(await inbox.counts("a")).toEqual(recount);
          const details = await Promise.all(after.map(({ id }) => inbox.get(id)));
          const isReleased = (one: EntryDetails): boolean =>
            one.history.some((item) => "act" in item && item.act === "release");
          const waiting = details.filter(
            (one) =>
              one?.state === "verified" && one.verification === "unsigned" && !isReleased(one),
          );
          const held = details.filter((one) => one?.reason?.code === "unsigned");
          expect(inbox.backlog("a")).toMatchObject({
            waiting: (recount["received"] ?? 0) + (recount["verified"] ?? 0),
            unsignedWaiting: waiting.length,
            unsignedHeld: held.length,
          });
          const bytes = details.reduce((sum, one) => sum + (one?.body?.length ?? 0), 0);
          expect(bytes).toBeLessThanOrEqual(maxBytes);
          const parked = details.filter((one) => one?.state === "held" || one?.state === "dead");
          const parkedBytes = parked.reduce((sum, one) => sum + (one?.body?.length ?? 0), 0);
          expect(parkedBytes).toBeLessThanOrEqual(maxBytes / 2);
        }
        expect(errors.every((code) => typeof code === "string")).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});
