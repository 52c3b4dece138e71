import { memoryInbox, type Receiver } from "@reporthook/core";
import { setUp } from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import { hourMs } from "../../lib/time/units.ts";

const genuine = { accepted: 1, "verdict/valid": 1, verified: 1, handled: 1 };

const hoursOf = async ({ inbox }: Receiver) =>
  (await inbox.hours(new Date(0))).map(({ at, counts }) => [at.getTime(), counts]);

describe("the numbers of hours", () => {
  it("a receiver keeps the numbers of each hour, and those of all processes are added up", async () => {
    const inbox = memoryInbox();
    const hour = Math.floor(Date.now() / hourMs) * hourMs;
    const clock = manualClock(hour);
    const first = setUp({ inbox, clock });
    first.seeAll();
    await first.send("report.complete");
    await first.pass(10_000, 5_000);
    expect(await hoursOf(first.receiver)).toEqual([[hour, genuine]]);
    await first.send("report.complete", { signature: "none" });
    // The last sign keeps what came after the one before.
    await first.receiver.close();
    const second = setUp({ inbox, clock });
    second.seeAll();
    await second.send("report.processing");
    await second.pass(10_000, 5_000);
    const both = { ...genuine, accepted: 2, "verdict/valid": 2, verified: 2, handled: 2 };
    const sum = { ...both, accepted: 3, "held/unsigned": 1 };
    expect(await hoursOf(second.receiver)).toEqual([[hour, sum]]);
    await second.pass(hourMs, 5_000);
    await second.send("report.complete");
    await second.pass(10_000, 5_000);
    expect(await hoursOf(second.receiver)).toEqual([
      [hour, sum],
      [hour + hourMs, genuine],
    ]);
    expect(await second.receiver.inbox.hours(new Date(hour + hourMs))).toHaveLength(1);
  });
});
