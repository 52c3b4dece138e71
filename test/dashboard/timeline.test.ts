import { DoNotRetry, type Receiver } from "@reporthook/core";
import type { WireOne } from "@reporthook/dashboard/internals";
import { timelineOf } from "@reporthook/dashboard/internals";
import { describe, expect, test } from "vitest";
import { appOnStage } from "./stage/app-on-stage.ts";
import type { Stage } from "./stage/stage.ts";

type Item = NonNullable<WireOne["delivery"]>["history"][number];
const isAttempt = (item: Item): item is Extract<Item, { readonly stage: string }> =>
  "stage" in item;
const released = "Released by a person";

async function deliveryOf({ url }: Stage, id: string): Promise<NonNullable<WireOne["delivery"]>> {
  const { delivery } = (await (await fetch(`${url}api/deliveries/${id}`)).json()) as WireOne;
  if (delivery === null) throw new Error(`There is no delivery ${id}`);
  return delivery;
}

/** A report that was sent and handled. */
async function handledIn(stage: Stage): Promise<NonNullable<WireOne["delivery"]>> {
  const id = await stage.send("report.complete");
  await stage.receiver.idle({ timeoutMs: 60_000 });
  return deliveryOf(stage, id);
}

/** The titles of a delivery's timeline on the page, after "Received". */
async function wayOf(stage: Stage, id: string): Promise<string[]> {
  return timelineOf(await deliveryOf(stage, id))
    .map(({ title }) => title)
    .slice(1);
}

async function release({ receiver }: Stage, id: string): Promise<void> {
  await receiver.inbox.release(id);
  await receiver.idle({ timeoutMs: 60_000 });
}

const handleAll = (receiver: Receiver) => void receiver.on("*", () => {});

describe("the way of a delivery", () => {
  test("timelineOf() says that a handled delivery was released, and counts its attempts from zero", async () => {
    const stage = await appOnStage({ handlers: handleAll });
    const id = await stage.send("report.complete");
    await stage.receiver.idle({ timeoutMs: 60_000 });
    await release(stage, id);
    const once = ["Asked the service: valid", "Handled at attempt 1"];
    expect(await wayOf(stage, id)).toEqual([...once, released, "Handled at attempt 1"]);
  });

  test("timelineOf() says that no handler ran", async () => {
    const stage = await appOnStage();
    const id = await stage.send("report.complete");
    await stage.receiver.idle({ timeoutMs: 60_000 });
    expect((await wayOf(stage, id)).at(-1)).toBe("Handled: no handler ran");
  });

  test("timelineOf() does not call a rejected delivery forged whose genuine signature expired", async () => {
    const receiver = { expired: "refuse" } as const;
    const stage = await appOnStage({ handlers: handleAll, receiver });
    const id = await stage.send("report.complete", { signature: "expired" });
    await stage.receiver.idle({ timeoutMs: 60_000 });
    expect((await stage.receiver.inbox.get(id))?.reason?.code).toBe("expired");
    expect(await wayOf(stage, id)).toEqual(["Asked the service: rejected"]);
  });

  test("timelineOf() says that a delivery was released that was parked as it came", async () => {
    const stage = await appOnStage({ handlers: handleAll });
    const id = await stage.send("report.complete", { signature: "none" });
    const unsigned = "Came without a signature: no verdict was asked for";
    const waits = "Waits for a person: No signature (unsigned)";
    expect(await wayOf(stage, id)).toEqual([unsigned, waits]);
    await release(stage, id);
    expect(await wayOf(stage, id)).toEqual([unsigned, released, "Handled at attempt 1"]);
    const test = await stage.send("test_webhook_endpoint", { signature: "none" });
    await stage.receiver.idle({ timeoutMs: 60_000 });
    expect(await wayOf(stage, test)).toEqual([unsigned, "Handled at attempt 1"]);
  });

  test("timelineOf() says that a delivery was released that was judged before it was stored", async () => {
    const stage = await appOnStage({ handlers: handleAll, receiver: { verify: "before-ack" } });
    const id = await stage.send("report.complete", { signature: "expired" });
    await release(stage, id);
    expect(await wayOf(stage, id)).toEqual([released, "Handled at attempt 1"]);
  });

  test("timelineOf() says that a delivery that waits was released", async () => {
    const stage = await appOnStage({ handlers: handleAll, receiver: { autostart: false } });
    const id = await stage.send("report.complete", { signature: "none" });
    await stage.receiver.inbox.release(id);
    expect((await wayOf(stage, id)).slice(1)).toEqual([released, "Next: your handlers run"]);
  });

  test("timelineOf() says who released or retried a delivery, and when", async () => {
    const retry = { attempts: 5, minMs: 3_600_000, maxMs: 3_600_000 };
    const fails = new Error("Not yet");
    const stage = await appOnStage({ fails, receiver: { retry } });
    const id = await stage.send("report.complete");
    const { inbox } = stage.receiver;
    await expect.poll(async () => (await inbox.get(id))?.attempts).toBe(1);
    stage.fix();
    await inbox.retry(id, { by: "Ada" });
    await stage.receiver.idle({ timeoutMs: 60_000 });
    await inbox.release(id, { by: "Bob" });
    await stage.receiver.idle({ timeoutMs: 60_000 });
    const retried = ["Attempt 1 failed", "Retried by Ada", "Handled at attempt 2"];
    const way = ["Asked the service: valid", ...retried, "Released by Bob", "Handled at attempt 1"];
    expect(await wayOf(stage, id)).toEqual(way);
    const steps = timelineOf(await deliveryOf(stage, id));
    expect(steps.filter(({ at }) => at === null)).toEqual([]);
  });

  test("timelineOf() tells attempts in a row that are alike as one, with the details of the last", async () => {
    const stage = await appOnStage({ handlers: handleAll });
    const delivery = await handledIn(stage);
    const verified = delivery.history.filter(isAttempt).find(({ stage }) => stage === "verify");
    if (verified === undefined) throw new Error(`${delivery.id} was not verified`);
    const silent = (minute: number, error: string) =>
      ({ ...verified, at: `2026-01-01T00:0${minute}:00Z`, outcome: "retry", error }) as const;
    const history = [
      silent(1, "Error: 503\n    at a.js:1"),
      silent(2, "Error: 503\n    at a.js:2"),
      silent(3, "Error: timeout"),
      verified,
    ];
    const [first, second, third, ...rest] = timelineOf({ ...delivery, history }).slice(1);
    expect(first).toMatchObject({
      title: "Asked the service: no verdict",
      at: "2026-01-01T00:01:00Z",
      alike: 2,
      until: "2026-01-01T00:02:00Z",
      detail: "Error: 503\n    at a.js:2",
    });
    expect(second).not.toHaveProperty("until");
    expect(second?.detail).toBe("Error: timeout");
    expect(third?.title).toBe("Asked the service: valid");
    expect(rest).toEqual([]);
  });

  test("timelineOf() counts no attempt that a shutdown cut off, and any other that failed", async () => {
    const stage = await appOnStage({ handlers: handleAll });
    const delivery = await handledIn(stage);
    const handled = delivery.history.filter(isAttempt).find(({ stage }) => stage === "handle");
    if (handled === undefined) throw new Error(`${delivery.id} was not handled`);
    const wayAfter = (...before: Partial<typeof handled>[]): string[] => {
      const history = [...before.map((part) => ({ ...handled, ...part })), handled];
      const attempts = before.filter(({ error }) => error !== "stopped").length + 1;
      return timelineOf({ ...delivery, history, attempts }).map(({ title }) => title);
    };
    const stopped = wayAfter({ outcome: "retry", error: "stopped" });
    expect(stopped.slice(-2)).toEqual(["Cut off by a shutdown", "Handled at attempt 1"]);
    const failed = wayAfter({ outcome: "retry", error: "Error: stopped" });
    expect(failed.slice(-2)).toEqual(["Attempt 1 failed", "Handled at attempt 2"]);
  });

  test("timelineOf() numbers attempts by what is counted, although the first are not kept", async () => {
    let failures = 0;
    const handlers = (receiver: Receiver) =>
      void receiver.on("report", () => {
        failures++;
        if (failures === 3) throw new DoNotRetry("Enough");
        throw new Error("Not yet");
      });
    const retry = { attempts: 23, minMs: 1, maxMs: 1 };
    const stage = await appOnStage({ handlers, receiver: { retry } });
    const id = await stage.send("report.complete");
    await expect.poll(async () => (await stage.receiver.inbox.get(id))?.state).toBe("dead");
    const way = await wayOf(stage, id);
    expect(way.slice(1, 3)).toEqual(["Attempts 1 to 2 failed", "Attempt 3: parked as dead"]);
    failures = 100;
    await stage.receiver.inbox.release(id);
    await expect.poll(async () => (await stage.receiver.inbox.get(id))?.state).toBe("dead");
    const numbers = (await wayOf(stage, id)).slice(1, -1);
    expect(numbers).toEqual([released, "Attempts 4 to 22 failed", "Attempt 23: parked as dead"]);
  });
});
