import { setUp, turns } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it } from "vitest";
import { isInsideHandler } from "./inside-handler.ts";

type Close = () => Promise<void>;
const nested = async (close: Close): Promise<void> => {
  await turns(2);
  await close();
};
const ways: Record<string, (close: Close) => Promise<unknown>> = {
  "at once": (close) => close(),
  "after a while": nested,
  "in a function that it waits for": async (close) => {
    await turns(1);
    await nested(close);
  },
  "beside others": (close) => Promise.all([nested(close), turns(3)]),
  "in a chain": (close) => turns(1).then(() => close()),
};

describe("closing", () => {
  for (const ack of ["stored", "handled"] as const) {
    it.each(Object.entries(ways))(
      `close() inside a handler does not wait for it, ack: "${ack}", called %s`,
      async (_way, run) => {
        const { receiver, send, observed } = setUp({ ack });
        let handled = false;
        receiver.on("report", async (_event, { signal }) => {
          await run(() => receiver.close());
          handled = !signal.aborted;
        });
        expect((await send("report.complete")).status).toBe(200);
        while (!handled) await turns(1);
        await receiver.close();
        expect(observed.map(([name]) => name)).toContain("handled");
      },
    );
  }
});

describe("context", () => {
  it("isInsideHandler() is false for what a handler began and does not wait for, and elsewhere", async () => {
    const { receiver, send } = setUp();
    const seen: boolean[] = [];
    const look = (): void => void seen.push(isInsideHandler());
    receiver.on("report", () => {
      look();
      setImmediate(look);
    });
    await send("report.complete");
    await receiver.idle();
    await turns();
    look();
    expect(seen).toEqual([true, false, false]);
  });

  it("isInsideHandler() leaves the limit of stacks as it was", () => {
    const before = Error.stackTraceLimit;
    isInsideHandler();
    expect(Error.stackTraceLimit).toBe(before);
  });
});
