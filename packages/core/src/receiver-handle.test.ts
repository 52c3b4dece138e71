import { gate, hasSettled, setUp, turns, turnUntil } from "@reporthook/test-support/receiver-setup";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DoNotRetry, ReporthookError, RetryAfter } from "./errors.ts";
import type { EventOf, HandlerContext } from "./events/events.ts";

describe("handlers", () => {
  it("the handlers run again with growing delays and one id until they succeed", async () => {
    const { receiver, send, emulator, advanceUntil, lines } = setUp();
    const runs: { id: string; attempt: number; at: number }[] = [];
    receiver.on("report.complete", ({ id }, { attempt }) => {
      runs.push({ id, attempt, at: emulator.clock.now() });
      if (attempt < 4) throw new Error(`attempt ${attempt}`);
    });
    const { body } = await send("report.complete");
    await advanceUntil(() => runs.length === 4, 100);
    await receiver.idle();
    expect(runs.map(({ id, attempt }) => [id, attempt])).toEqual(
      [1, 2, 3, 4].map((attempt) => [body.id, attempt]),
    );
    const waits = runs.slice(1).map(({ at }, index) => at - (runs[index]?.at ?? 0));
    expect(waits[1]).toBeGreaterThan(waits[0] ?? 0);
    expect(waits[2]).toBeGreaterThan(waits[1] ?? 0);
    expect(await receiver.inbox.get(body.id)).toMatchObject({ state: "handled", attempts: 4 });
    expect(lines.map(({ level, fields }) => [level, fields["attempt"]])).toEqual(
      [1, 2, 3].map((attempt) => ["warn", attempt]),
    );
  });

  it("the handlers run once more, and no more, when the hook that is told of their failure releases the delivery", async () => {
    const releases: Promise<number>[] = [];
    const { receiver, send } = setUp({
      observe: { parked: ({ id }) => void releases.push(receiver.inbox.release(id)) },
    });
    const running = { now: 0, max: 0, runs: 0 };
    receiver.on("report", async () => {
      running.max = Math.max(running.max, ++running.now);
      await turns(2);
      running.now--;
      if (++running.runs === 1) throw new DoNotRetry("not the first time");
    });
    const { body } = await send("report.complete");
    await receiver.idle();
    await Promise.all(releases);
    expect(running).toEqual({ now: 0, max: 1, runs: 2 });
    expect(await receiver.inbox.get(body.id)).toMatchObject({ state: "handled" });
  });

  it("a handler waits for a free slot, not for the slowest of those that run", async () => {
    const { receiver, send } = setUp({ concurrency: { handle: 2 } });
    const doors = new Map<string, () => void>();
    receiver.on("report", ({ id }) => new Promise<void>((open) => doors.set(id, open)));
    for (let count = 0; count < 6; count++) await send("report.complete");
    await turnUntil(() => doors.size === 2);
    for (let open = 3; open <= 6; open++) {
      // The first of them never ends.
      const [, id = ""] = [...doors.keys()];
      doors.get(id)?.();
      doors.delete(id);
      await turnUntil(() => doors.size === 2);
    }
    for (const open of doors.values()) open();
    await receiver.idle();
  });

  it("a delivery parks at once with DoNotRetry, and has attempts from zero after a release", async () => {
    const { receiver, send, lines } = setUp();
    const attempts: number[] = [];
    receiver.on("report", (_, { attempt }) => {
      attempts.push(attempt);
      if (attempts.length === 1) throw new DoNotRetry("the customer was deleted");
    });
    const { body } = await send("report.complete");
    await receiver.idle();
    expect(await receiver.inbox.get(body.id)).toMatchObject({
      state: "dead",
      reason: { code: "do_not_retry" },
      lastError: expect.stringContaining("the customer was deleted"),
    });
    expect(lines).toMatchObject([
      { level: "warn", fields: { id: body.id, reason: "do_not_retry" } },
    ]);
    await receiver.inbox.release(body.id);
    await receiver.idle();
    expect(attempts).toEqual([1, 1]);
    expect(await receiver.inbox.get(body.id)).toMatchObject({ state: "handled", reason: null });
  });

  it.each<[string, () => number | Date, number]>([
    ["milliseconds", () => 90_000, 90_000],
    ["a date", () => new Date(Date.now() + 90_000), 90_000],
    ["a date in the past", () => new Date(0), 0],
  ])("the handlers run again when RetryAfter says so, with %s", async (_, when, afterMs) => {
    const { receiver, send, emulator, advanceUntil } = setUp();
    const at: number[] = [];
    receiver.on("report", () => {
      at.push(emulator.clock.now());
      if (at.length === 1) throw new RetryAfter(when());
    });
    await send("report.complete");
    await advanceUntil(() => at.length === 2, 500);
    const waited = (at[1] ?? 0) - (at[0] ?? 0);
    expect(waited).toBeGreaterThanOrEqual(afterMs);
    expect(waited).toBeLessThan(afterMs + 1_100);
  });

  it("the handlers run again in a hundred years when RetryAfter says later than any date", async () => {
    const { receiver, send, emulator, observed } = setUp();
    receiver.on("report", () => {
      throw new RetryAfter(Number.MAX_VALUE);
    });
    const { body } = await send("report.complete");
    await turnUntil(() => observed.some(([name]) => name === "failed"));
    const entry = await receiver.inbox.get(body.id);
    expect(Number(entry?.nextAttemptAt) - emulator.clock.now()).toBeGreaterThan(3e12);
  });

  it("a delivery is dead when all its attempts are used up", async () => {
    const { receiver, send, advanceUntil, observed } = setUp({ retry: { attempts: 3 } });
    let runs = 0;
    receiver.on("*", () => {
      runs++;
      throw new Error("always");
    });
    const { body } = await send("report.complete");
    await advanceUntil(() => observed.some(([name]) => name === "parked"));
    expect(runs).toBe(3);
    expect(await receiver.inbox.get(body.id)).toMatchObject({
      state: "dead",
      attempts: 3,
      reason: { code: "attempts_used_up" },
    });
    expect(observed.slice(2).map(([name, { state }]) => [name, state])).toEqual([
      ...[1, 2].map(() => ["failed", "verified"]),
      ...["failed", "parked"].map((name) => [name, "dead"]),
    ]);
  });

  it("a handler fails and sees its signal aborted after handlerTimeoutMs, and the next attempt does not wait for its end", async () => {
    const options = { handlerTimeoutMs: 5_000, concurrency: { handle: 1 } };
    const { receiver, send, emulator, advanceUntil } = setUp(options);
    const contexts: HandlerContext[] = [];
    receiver.on("*", (_, context) => {
      contexts.push(context);
      return contexts.length === 1 ? new Promise(() => {}) : undefined;
    });
    const { body } = await send("report.complete");
    await turnUntil(() => contexts.length === 1);
    emulator.clock.advance(4_000);
    expect(contexts[0]?.signal.aborted).toBe(false);
    await advanceUntil(() => contexts.length === 2);
    expect(contexts[0]?.signal.aborted).toBe(true);
    expect(contexts[1]).toMatchObject({ attempt: 2 });
    await receiver.idle();
    expect((await receiver.inbox.get(body.id))?.history).toMatchObject([
      {},
      { outcome: "retry", error: expect.stringContaining("handlerTimeoutMs (5000 ms)") },
      { outcome: "handled" },
    ]);
  });

  it("an unsigned delivery of any content reaches no handler but those of test_webhook_endpoint and *", async () => {
    const event = fc.constantFrom("test_webhook_endpoint", "report_status_changed", "", 1, null);
    const status = fc.constantFrom("processing", "complete", "internal_error", "odd");
    const payload = fc.oneof(status, fc.record({ status, report_id: fc.string() }), fc.integer());
    const body = fc.oneof(
      fc.record(
        { event_type: event, payload, status, report: fc.record({ status }), id: fc.string() },
        { requiredKeys: [] },
      ),
      fc.dictionary(fc.string(), fc.jsonValue()),
    );
    const options = fc.record({
      unsigned: fc.constantFrom("hold", "refuse"),
      unsignedTests: fc.constantFrom("accept", "refuse"),
      verify: fc.constantFrom("after-ack", "before-ack"),
      ack: fc.constantFrom("stored", "handled"),
      expired: fc.constantFrom("hold", "handle-after-outage", "refuse"),
      parse: fc.constantFrom(undefined, () => ({ type: "report", status: "complete" }) as const),
    });
    const headers = fc.constantFrom({}, { "X-svc-authorization": " " });
    await fc.assert(
      fc.asyncProperty(body, options, headers, async (sent, { parse, ...chosen }, blank) => {
        const { receiver, emulator, post } = setUp({ ...chosen, ...(parse && { parse }) });
        const wrong: EventOf[] = [];
        const right: EventOf[] = [];
        receiver.on(["report", "unknown"], (event) => void wrong.push(event));
        receiver.on("*", (event) => void right.push(event));
        const usual = emulator.notification("*", { body: sent, signature: "none" });
        await post({ ...usual, headers: { ...usual.headers, ...blank } });
        await receiver.idle();
        await receiver.close();
        expect(wrong).toEqual([]);
        const test =
          sent["event_type"] === "test_webhook_endpoint" && typeof sent["payload"] === "string";
        expect(right.map(({ type, verification }) => [type, verification])).toEqual(
          test && chosen.unsignedTests === "accept" ? [["test_webhook_endpoint", "unsigned"]] : [],
        );
      }),
      { numRuns: 150 },
    );
  });

  it("an unsigned delivery is handled once it is released", async () => {
    const { receiver, send, seen, seeAll, observed } = setUp();
    receiver.on("report.complete", (event) => void seen.push(event));
    seeAll();
    const { body } = await send("report.complete", { signature: "none", reportId: "r-7" });
    await receiver.idle();
    expect(await receiver.inbox.get(body.id)).toMatchObject({
      state: "held",
      reason: { code: "unsigned" },
      reportId: "r-7",
      type: "report.complete",
    });
    expect(observed.map(([name]) => name)).toEqual(["acknowledged", "parked"]);
    await receiver.inbox.release(body.id);
    await receiver.idle();
    expect(seen.map(({ verification }) => verification)).toEqual(["unsigned", "unsigned"]);
  });
});

describe("the answer after the handlers", () => {
  it('ack: "handled" answers 200 only after the handlers have succeeded, and keeps nothing', async () => {
    const { receiver, send, observed } = setUp({ ack: "handled" });
    const finish = gate();
    receiver.on("report.complete", () => finish.opened);
    const answer = send("report.complete");
    expect(await hasSettled(answer)).toBe(false);
    finish.open();
    expect(await answer).toMatchObject({ status: 200, body: { status: "accepted" } });
    expect(await receiver.inbox.list()).toEqual([]);
    expect(observed.map(([name]) => name)).toEqual(["verified", "handled"]);
  });

  it('ack: "handled" answers 503 not_handled when a handler fails, there is none, or there is no verdict', async () => {
    const { receiver, send, emulator, lines, observed } = setUp({ ack: "handled" });
    receiver.on("report.complete", () => {
      throw new DoNotRetry("no");
    });
    const refused = { status: 503, body: { code: "not_handled" } };
    expect(await send("report.complete")).toMatchObject(refused);
    expect(await send("unknown")).toMatchObject(refused);
    emulator.fault("authorize", { status: 500, times: 1 });
    expect(await send("report.complete")).toMatchObject(refused);
    emulator.fault("authorize", { status: 401 });
    expect(await send("report.complete")).toMatchObject(refused);
    expect(await send("report.complete")).toMatchObject(refused);
    expect(await receiver.inbox.list()).toEqual([]);
    expect(lines.map(({ level }) => level)).toEqual(["warn", "warn", "warn", "warn", "error"]);
    expect(observed.map(([name]) => name)).not.toContain("parked");
  });

  it('ack: "handled" asks for no verdict while the service refuses the key', async () => {
    let asked = 0;
    const authorize = async (): Promise<never> => {
      asked++;
      throw new ReporthookError("service_refused", "no");
    };
    const { send } = setUp({ ack: "handled", client: { authorize } });
    const refused = { status: 503, body: { code: "not_handled" } };
    expect(await send("report.complete")).toMatchObject(refused);
    expect(await send("report.complete")).toMatchObject(refused);
    expect(asked).toBe(1);
  });

  it('ack: "handled" gives a notification that is sent again the same id, and another one a new id', async () => {
    const { receiver, post, emulator, lines } = setUp({ ack: "handled" });
    const ids: string[] = [];
    receiver.on("report.complete", ({ id }) => {
      ids.push(id);
      if (ids.length === 1) throw new Error("not yet");
    });
    const one = emulator.notification("report.complete");
    expect(await post(one)).toMatchObject({ status: 503 });
    expect(lines.map(({ fields }) => fields["id"])).toEqual([ids[0]]);
    expect(await post(one)).toMatchObject({ status: 200, body: { id: ids[0] } });
    expect(await post(emulator.notification("report.complete"))).toMatchObject({ status: 200 });
    const [first, second, other] = ids;
    expect(first).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/);
    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });

  it('ack: "handled" handles as many at once as concurrency says', async () => {
    const { receiver, send } = setUp({ ack: "handled", concurrency: { handle: 2 } });
    const finish = gate();
    let [running, most] = [0, 0];
    receiver.on("report.complete", async () => {
      most = Math.max(most, ++running);
      await finish.opened;
      running--;
    });
    const answers = [1, 2, 3, 4, 5].map(() => send("report.complete"));
    await turnUntil(() => running === 2);
    await turns();
    finish.open();
    for (const answer of answers) expect(await answer).toMatchObject({ status: 200 });
    expect(most).toBe(2);
  });

  it('ack: "handled" answers 503 to a request that waits for a free handler in vain', async () => {
    const { receiver, send, emulator } = setUp({ ack: "handled", concurrency: { handle: 1 } });
    let runs = 0;
    receiver.on("report.complete", () => {
      runs++;
      return new Promise(() => {});
    });
    const answers = [send("report.complete"), send("report.complete")];
    await turnUntil(() => runs === 1);
    await turns();
    emulator.clock.advance(4_000);
    for (const answer of answers) expect(await answer).toMatchObject({ status: 503 });
    expect(runs).toBe(1);
  });

  it('ack: "handled" has close() abort running handlers when the time is over', async () => {
    const { receiver, send } = setUp({ ack: "handled" }, "runs");
    let signal: AbortSignal | undefined;
    receiver.on("*", (_, context) => {
      signal = context.signal;
      return new Promise(() => {});
    });
    const answer = send("report.complete");
    await turnUntil(() => signal !== undefined);
    await receiver.close({ timeoutMs: 1 });
    expect(signal?.aborted).toBe(true);
    expect(await answer).toMatchObject({ status: 503, body: { code: "not_handled" } });
    expect(await send("report")).toMatchObject({ status: 503, body: { code: "closing" } });
  });

  it('ack: "handled" aborts a handler after limits.ackMs, and handles a copy that comes then without waiting for its end', async () => {
    const { receiver, post, emulator } = setUp({ ack: "handled" });
    const signals: AbortSignal[] = [];
    receiver.on("report.complete", (_, { signal, attempt }) => {
      signals.push(signal);
      expect(attempt).toBe(1);
      return signals.length === 1 ? new Promise(() => {}) : undefined;
    });
    const one = emulator.notification("report.complete");
    const answer = post(one);
    await turnUntil(() => signals.length === 1);
    emulator.clock.advance(4_000);
    expect(await answer).toMatchObject({ status: 503, body: { code: "not_handled" } });
    expect(signals[0]?.aborted).toBe(true);
    expect(await post(one)).toMatchObject({ status: 200, body: { status: "accepted" } });
    expect(signals).toHaveLength(2);
  });
});
