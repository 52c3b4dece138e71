import { ReporthookError } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { testDelivery } from "@reporthook/test-support/jobs";
import { describe, expect, it } from "vitest";
import type { Inbox } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { oncePerMinute } from "../lib/log.ts";
import { Deadline } from "../lib/time/deadline.ts";
import { messages } from "../log-messages.ts";
import { receiverSettingsOf } from "../options/receiver-settings.ts";
import { Admission } from "./admission.ts";

const delivery = testDelivery({ id: "1" });

function make(add: Inbox["add"]) {
  const { clock } = createEmulator();
  const lines: unknown[] = [];
  const write = (...line: unknown[]): void => void lines.push(line);
  const limits = {
    bodyBytes: 1,
    bodyMs: 1,
    verifyMs: 1,
    ackMs: 1,
    waiting: 1,
    unverified: 1,
  };
  const settings = receiverSettingsOf({
    client: { authorize: async () => "valid" },
    clock,
    limits,
    inbox: Object.assign(memoryInbox(), { add }),
  });
  Object.assign(settings, {
    oncePerMinute: oncePerMinute(settings.clock, { warn: write, error: write }),
  });
  const runner = { phase: "working", prepare: async () => {} } as const;
  const admission = new Admission(settings, runner, { tell() {} });
  const deadline = new Deadline(settings.clock, 100);
  const store = async () => {
    try {
      return await admission.store(delivery, { to: "received" }, deadline);
    } catch (error) {
      return admission.notStored("1", error);
    }
  };
  return { clock, lines, store };
}

const notStored = (error: string) => [{ id: "1", error, count: 1 }, messages.notStored];

describe("storing", () => {
  it("Admission.store() resolves to the inbox's answer when it stores in time", async () => {
    const added = { status: "added", id: "1" } as const;
    expect(await make(async () => added).store()).toEqual(added);
  });

  it("Admission.store() refuses when the inbox rejects or throws", async () => {
    const fail = () => {
      throw new Error("disk full");
    };
    for (const add of [fail, async () => fail()]) {
      const { lines, store } = make(add);
      expect(await store()).toEqual({ refused: "inbox_unavailable" });
      expect(lines).toEqual([notStored("Error: disk full")]);
    }
  });

  it("Admission.store() refuses as overloaded when the inbox is full", async () => {
    const { lines, store } = make(async () => {
      throw new ReporthookError("overloaded", "over maxBytes");
    });
    expect(await store()).toEqual({ refused: "overloaded" });
    expect(lines).toEqual([
      [{ error: "ReporthookError: over maxBytes", count: 1 }, messages.inboxFull],
    ]);
  });

  it("Admission.store() refuses when the time is over, and outlives a later rejection", async () => {
    let reject = (_: Error): void => {};
    const { clock, lines, store } = make(
      () =>
        new Promise((_, fail) => {
          reject = fail;
        }),
    );
    const storing = store();
    clock.advance(100);
    expect(await storing).toEqual({ refused: "inbox_unavailable" });
    expect(lines).toEqual([notStored("Error: The inbox gave no answer within 100 ms")]);
    reject(new Error("later"));
    await new Promise((resolve) => setImmediate(resolve));
  });
});
