import { openQueues } from "@reporthook/test-support/queues";
import { onEachServer } from "@reporthook/test-support/servers";
import { handled, valid } from "@reporthook/testing/internals";
import { expect, it, vi } from "vitest";

let prefixes = 0;

onEachServer((server) => {
  const open = (leaseMs = 15_000) => {
    const prefix = `run_${++prefixes}`;
    return openQueues({ connection: server().url, prefix, logger: false, leaseMs });
  };

  it("a job that comes to its own process again is not taken from the later run", async () => {
    const { put, consume, until, inbox, queues } = await open(1_000);
    const id = await put();
    const signals: AbortSignal[] = [];
    let finish = (): void => {};
    const { recorded } = consume(
      "verify",
      async (_job, { signal }) => {
        signals.push(signal as AbortSignal);
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return valid;
      },
      { concurrency: 2 },
    );
    await until(() => signals.length === 1, "it begins");
    // The token that BullMQ takes without a look at the lock.
    await queues.of("verify").backend.moveJobFromActiveToWait(id, "0");
    await until(() => signals.length === 2, "it begins again");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    // Longer than a lock holds: it is extended for the later run.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    finish();
    await until(() => recorded.length === 1, "its verdict is recorded");
    expect(await inbox.counts("a")).toMatchObject({ received: 0, verified: 1 });
  });

  it.each(["verdict", "result"])("a hook that throws for a %s stops nothing", async (which) => {
    const { inbox, clock, put, until } = await open();
    const unhandled = vi.fn();
    process.once("unhandledRejection", unhandled);
    const ids = [await put(), await put()];
    const told: string[] = [];
    let runs = 0;
    const consumer = inbox.consume("verify", async () => valid, {
      receiver: "a",
      concurrency: 1,
      clock,
      onError: () => {},
      handleAtOnce: async () => {
        runs++;
        // Longer than a verdict waits for its result.
        if (which === "verdict") await new Promise((resolve) => setTimeout(resolve, 100));
        return handled;
      },
      onRecorded({ id }, { to }) {
        told.push(`${id} ${to}`);
        if (told.length === 1) throw new Error("an observer fails");
      },
    });
    await until(() => told.length === 4, "all is told");
    expect(told.toSorted()).toEqual(ids.flatMap((id) => [`${id} handled`, `${id} verified`]));
    expect(runs).toBe(2);
    await consumer.stop();
    expect(unhandled).toHaveBeenCalledOnce();
  });
});
