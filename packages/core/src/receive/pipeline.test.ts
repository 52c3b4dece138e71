import { ReporthookError } from "@reporthook/core";
import { gate, setUp, turns } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it } from "vitest";
import type { Inbox } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { messages } from "../log-messages.ts";

const expectedId = expect.stringMatching(/^[0-9a-z]{26}$/);

/** A receiver whose inbox stores so, and which has 100 ms for an answer. */
function make(add: Inbox["add"]) {
  const inbox = Object.assign(memoryInbox(), { add });
  const { emulator, lines, send } = setUp({ inbox, limits: { ackMs: 100 } });
  const store = async () => {
    const { status, body } = await send("report.complete");
    return { status, code: body.code };
  };
  return { clock: emulator.clock, lines, store };
}

const notStored = (error: string) => ({
  level: "error",
  fields: { receiver: "reports", id: expectedId, error, count: 1 },
  message: messages.notStored,
});

describe("storing", () => {
  const fail = (): never => {
    throw new Error("disk full");
  };

  it("a pipeline refuses when the inbox rejects or throws", async () => {
    for (const add of [fail, async () => fail()]) {
      const { lines, store } = make(add);
      expect(await store()).toEqual({ status: 503, code: "inbox_unavailable" });
      expect(lines).toContainEqual(notStored("Error: disk full"));
    }
  });

  it("a pipeline refuses as overloaded when the inbox is full", async () => {
    const { lines, store } = make(async () => {
      throw new ReporthookError("overloaded", "over maxBytes");
    });
    expect(await store()).toEqual({ status: 503, code: "overloaded" });
    const fields = { receiver: "reports", error: "ReporthookError: over maxBytes", count: 1 };
    expect(lines).toContainEqual({ level: "warn", fields, message: messages.inboxFull });
  });

  it("a pipeline refuses when the time is over, and outlives a later rejection", async () => {
    const later = gate();
    const { clock, lines, store } = make(() => later.opened.then(fail));
    const storing = store();
    await turns();
    clock.advance(100);
    expect(await storing).toEqual({ status: 503, code: "inbox_unavailable" });
    expect(lines).toContainEqual(notStored("Error: The inbox gave no answer within 100 ms"));
    later.open();
    await turns();
  });
});
