import { setUp } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it } from "vitest";
import { DoNotRetry } from "./errors.ts";
import { inside, type Lookout } from "./health/health.ts";
import { memoryInbox } from "./inbox/memory/memory-inbox.ts";
import { messages } from "./log-messages.ts";
import type { Receiver } from "./receiver-type.ts";

const dayMs = 86_400_000;
/** How many unsigned deliveries its numbers count as deleted. */
function deletedBy(receiver: Receiver): number | undefined {
  const seen = (receiver as unknown as Record<symbol, Lookout>)[inside] as Lookout;
  return seen.numbers?.counts["deleted/unsigned"];
}

const headers = { "content-type": "application/json" };

describe("retention", () => {
  it("a receiver announces parked deliveries 3 days before their end, and tells of their deletion, with the reasons", async () => {
    const { receiver, send, emulator, lines } = setUp();
    receiver.on("report.complete", () => {
      throw new DoNotRetry("never");
    });
    for (let count = 0; count < 2; count++) await send("report.complete");
    await send("unknown");
    await receiver.idle();
    lines.length = 0;
    const after = async (days: number) => {
      emulator.clock.advance(days * dayMs);
      await receiver.inbox.list();
      return lines.splice(0);
    };
    const reasons = { do_not_retry: 2, no_handler: 1 };
    expect(await after(26.9)).toEqual([]);
    const announced = await after(0.2);
    const look = "npx reporthook inbox list --state parked";
    const deletedFrom = expect.stringMatching(/^\d{4}-.*Z$/);
    const told = { receiver: "reports", count: 3, reasons, deletedFrom, look };
    expect(announced).toEqual([{ level: "warn", message: messages.parkedExpiring, fields: told }]);
    expect(await after(2.9)).toEqual([]);
    expect((await receiver.inbox.list()).length).toBe(3);
    const fields = { receiver: "reports", count: 3, reasons };
    const deleted = [{ level: "warn", message: messages.parkedDeleted, fields }];
    expect(await after(0.2)).toEqual(deleted);
    expect(await receiver.inbox.list()).toEqual([]);
    expect(await after(100)).toEqual([]);
  });

  it("a quiet receiver announces and deletes by time alone", async () => {
    const { receiver, send, emulator } = setUp();
    receiver.on("report.complete", () => {
      throw new DoNotRetry("never");
    });
    await send("report.complete");
    await receiver.idle();
    const codesAfter = async (days: number) => {
      emulator.clock.advance(days * dayMs);
      return (await receiver.health()).problems.map(({ code }) => code);
    };
    expect(await codesAfter(26)).toEqual(["parked"]);
    expect(await codesAfter(1.5)).toEqual(["parked", "parked_expiring"]);
    expect(await codesAfter(4)).toEqual([]);
  });

  it("a receiver counts in an error line the deliveries that made room in memory", async () => {
    const inbox = memoryInbox({ maxBytes: 2_000 });
    const { receiver, post, emulator, lines } = setUp({ inbox });
    const body = JSON.stringify({ text: "x".repeat(400) });
    for (let count = 0; count < 5; count++) await post({ body, headers });
    emulator.clock.advance(60_000);
    lines.length = 0;
    expect(await receiver.inbox.list()).toHaveLength(2);
    const fields = { receiver: "reports", count: 3, reasons: { unsigned: 3 } };
    expect(lines).toEqual([{ level: "error", message: messages.parkedMadeRoom, fields }]);
    expect(deletedBy(receiver)).toBe(3);
  });

  it("a receiver counts the unsigned deliveries that are deleted after a day, and logs nothing", async () => {
    const { receiver, post, emulator, lines } = setUp();
    for (let count = 0; count < 2; count++) await post({ body: `{"n":${count}}`, headers });
    lines.length = 0;
    emulator.clock.advance(dayMs + 60_000);
    expect(await receiver.inbox.list()).toEqual([]);
    expect(lines).toEqual([]);
    expect(deletedBy(receiver)).toBe(2);
  });
});
