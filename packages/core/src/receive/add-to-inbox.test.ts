import { createEmulator } from "@reporthook/emulator";
import { describe, expect, it } from "vitest";
import type { NewDelivery } from "../inbox/delivery.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { Deadline } from "../lib/deadline.ts";
import { addToInbox } from "./add-to-inbox.ts";

const delivery: NewDelivery = {
  ...{ id: "1", receiver: "reports", receivedAt: 0, key: null, signature: "s", url: "/" },
  ...{ headers: {}, context: null, body: new Uint8Array(), ackMs: 0 },
};
const acceptWith = (add: Inbox["add"], clock = createEmulator().clock) =>
  addToInbox(
    Object.assign(memoryInbox(), { add }),
    delivery,
    { to: "received" },
    new Deadline(clock, clock.now(), 100),
  );

describe("addToInbox()", () => {
  it("resolves to what the inbox says when it is stored in time", async () => {
    const added = { status: "added", id: "1" } as const;
    expect(await acceptWith(async () => added)).toEqual(added);
  });

  it("resolves to failed when the inbox rejects or throws", async () => {
    const error = new Error("disk full");
    const fail = () => {
      throw error;
    };
    expect(await acceptWith(() => Promise.reject(error))).toEqual({ status: "failed", error });
    expect(await acceptWith(fail)).toEqual({ status: "failed", error });
  });

  it("resolves to failed when the time is over, and outlives a later rejection", async () => {
    const { clock } = createEmulator();
    let reject = (_: Error): void => {};
    const adding = acceptWith(
      () =>
        new Promise((_, fail) => {
          reject = fail;
        }),
      clock,
    );
    clock.advance(100);
    expect(await adding).toMatchObject({
      status: "failed",
      error: { message: "The inbox gave no answer within 100 ms" },
    });
    reject(new Error("later"));
    await new Promise((resolve) => setImmediate(resolve));
  });
});
