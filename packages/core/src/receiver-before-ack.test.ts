import { answeredWith } from "@reporthook/test-support/jobs";
import {
  gate,
  hasSettled,
  setUp,
  slowRequest,
  turns,
  turnUntil,
} from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import type { Authorizer } from "./client/authorizer.ts";
import { ServiceError } from "./errors.ts";
import { messages } from "./log-messages.ts";

describe("a verdict before the answer", () => {
  it("before-ack answers 401 to forged notifications, and to expired ones with expired: refuse", async () => {
    const { receiver, send, observed, seen, seeAll } = setUp({
      verify: "before-ack",
      expired: "refuse",
    });
    seeAll();
    expect(await send("report", { signature: "invalid" })).toMatchObject({
      status: 401,
      body: { code: "invalid_signature" },
    });
    expect(await send("report", { signature: "expired" })).toMatchObject({
      status: 401,
      body: { code: "expired_signature" },
    });
    expect(await receiver.inbox.list()).toEqual([]);
    expect(await send("report.complete")).toMatchObject({ status: 200 });
    await receiver.idle();
    expect(seen).toHaveLength(1);
    expect(observed.map(([name, { state }]) => [name, state])).toEqual([
      ["verified", "rejected"],
      ["verified", "rejected"],
      ["acknowledged", "verified"],
      ["verified", "verified"],
      ["handled", "handled"],
    ]);
  });

  it("before-ack holds an expired notification", async () => {
    const { receiver, send, observed, lines, seeAll } = setUp({ verify: "before-ack" });
    seeAll();
    const { status, body } = await send("report", { signature: "expired" });
    expect(status).toBe(200);
    expect(await receiver.inbox.get(body.id)).toMatchObject({
      state: "held",
      reason: { code: "expired" },
    });
    expect(observed.map(([name]) => name)).toEqual(["acknowledged", "verified", "parked"]);
    expect(lines).toMatchObject([{ fields: { id: body.id, reason: "expired" } }]);
  });

  it("before-ack waits for no verdict while the key is refused", async () => {
    const { emulator, receiver, send, seen, seeAll, advanceUntil } = setUp({
      verify: "before-ack",
    });
    seeAll();
    const end = emulator.fault("authorize", { status: 401 });
    expect(await send("report.complete")).toMatchObject({ status: 200 });
    expect(await send("report.complete")).toMatchObject({ status: 200 });
    expect((await receiver.inbox.counts()).received).toBe(2);
    end();
    await advanceUntil(() => seen.length === 2);
  });

  it("before-ack loses no probe when the time of its request is used up", async () => {
    const hanging = gate();
    let refusing = true;
    let calls = 0;
    const client: Authorizer = {
      async authorize() {
        calls++;
        if (!refusing) return "valid";
        if (calls === 1) throw answeredWith(401);
        await hanging.opened;
        return "valid";
      },
    };
    const { emulator, send, seen, seeAll } = setUp({
      client,
      verify: "before-ack",
      autostart: false,
    });
    seeAll();
    await send("report.complete");
    emulator.clock.advance(1_000);
    const probe = send("report.complete");
    await turnUntil(() => calls === 2);
    emulator.clock.advance(2_500);
    expect(await probe).toMatchObject({ status: 200 });
    refusing = false;
    expect(await send("report.complete")).toMatchObject({ status: 200 });
    expect(calls).toBe(3);
    expect(seen).toEqual([]);
  });

  it.each([
    ["answers 503", { status: 503 }, "handled"],
    ["answers too late for the request", { delayMs: 60_000 }, "held"],
    ["refuses the key", { status: 401 }, "held"],
  ] as const)(
    "before-ack remembers the outcome of the call in the request until the service works: it %s",
    async (_, fault, state) => {
      const { emulator, receiver, send, observed, seeAll, advanceUntil } = setUp({
        verify: "before-ack",
        expired: "handle-after-outage",
        autostart: false,
      });
      seeAll();
      const end = emulator.fault("authorize", fault);
      const answer = send("report.complete");
      await turns();
      emulator.clock.advance(2_500);
      const { body } = await answer;
      end();
      emulator.clock.advance(6 * 60_000);
      await receiver.start();
      await advanceUntil(() => observed.some(([hook]) => hook === "handled" || hook === "parked"));
      expect(await receiver.inbox.get(body.id)).toMatchObject({ state, verification: "expired" });
    },
  );

  it.each([
    ["verifyMs", { verifyMs: 1_200 }, 0, 1_200],
    ["what ackMs leaves beside a second to store", { ackMs: 3_000 }, 0, 2_000],
    ["half of a short ackMs", { ackMs: 1_000 }, 0, 500],
    ["what a slow body has left", {}, 1_900, 1_100],
  ])("before-ack waits for a verdict as long as %s", async (_, limits, bodyMs, budgetMs) => {
    const clock = manualClock();
    const hanging = gate();
    const client: Authorizer = { authorize: () => hanging.opened.then(() => "valid") };
    const { receiver, lines, pass } = setUp({ client, clock, verify: "before-ack", limits });
    const slow = gate();
    const request = slowRequest(slow.opened, '{"status":"complete"}');
    const answer = receiver.fetch(request);
    await turns();
    clock.advance(bodyMs);
    slow.open();
    await turns();
    await pass(budgetMs - 1);
    expect(await hasSettled(answer)).toBe(false);
    clock.advance(1);
    expect((await answer).status).toBe(200);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: "warn", message: messages.noVerdictInTime }),
    );
    expect(await receiver.inbox.counts()).toMatchObject({ received: 1 });
    hanging.open();
    await receiver.idle();
    expect(await receiver.inbox.counts()).toMatchObject({ handled: 1 });
  });

  it("before-ack makes no more calls at once than concurrency.verify, the worker's included", async () => {
    let [now, most, calls] = [0, 0, 0];
    const client: Authorizer = {
      async authorize() {
        calls++;
        most = Math.max(most, ++now);
        await new Promise<void>((resolve) => void emulator.clock.setTimeout(resolve, 500));
        now--;
        return "valid";
      },
    };
    const { emulator, receiver, send, seen, seeAll } = setUp({
      client,
      verify: "before-ack",
      concurrency: { verify: 4 },
    });
    seeAll();
    const answers = Promise.all(Array.from({ length: 40 }, () => send("report.complete")));
    while (seen.length < 40) {
      emulator.clock.advance(100);
      await turns(5);
    }
    for (const { status } of await answers) expect(status).toBe(200);
    expect(most).toBe(4);
    // The four that were cut off are made again by the worker.
    expect(calls).toBeLessThanOrEqual(44);
    expect(await receiver.inbox.counts()).toMatchObject({ handled: 40 });
  });

  it("before-ack stores at once, and asks nobody, while the service is known to be silent", async () => {
    let calls = 0;
    let silent = true;
    const client: Authorizer = {
      async authorize() {
        calls++;
        if (silent) throw new ServiceError("service_unreachable", "gone", { retryable: true });
        return "valid";
      },
    };
    const { receiver, send, seen, seeAll, advanceUntil } = setUp({ client, verify: "before-ack" });
    seeAll();
    for (let sent = 0; sent < 30; sent++) await send("report.complete");
    expect(calls).toBeLessThanOrEqual(10);
    expect(await receiver.inbox.counts()).toMatchObject({ received: 30 });
    silent = false;
    await advanceUntil(() => seen.length === 30);
  });
});
