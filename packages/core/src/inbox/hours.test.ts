import { createClient, memoryInbox, type Receiver } from "@reporthook/core";
import { setUp, turns } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it } from "vitest";
import { hourKey, hourMs } from "./hours.ts";

const signMs = 5_000;
const dayMs = 24 * hourMs;
const genuine = { accepted: 1, "verdict/valid": 1, verified: 1, handled: 1 };
const name = "reports";

type Watched = ReturnType<typeof setUp>;

/** Lets time pass, a sign of life at a time. */
async function pass({ emulator }: Watched, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += signMs) {
    emulator.clock.advance(signMs);
    await turns(8);
  }
}

const hoursOf = async ({ inbox }: Receiver) =>
  (await inbox.hours(new Date(0))).map(({ at, counts }) => [at.getTime(), counts]);

describe("the numbers of hours", () => {
  it("a receiver keeps the numbers of each hour, and those of all processes are added up", async () => {
    const inbox = memoryInbox();
    const first = setUp({ inbox });
    const { clock, clientOptions } = first.emulator;
    first.seeAll();
    clock.advance(hourMs - (clock.now() % hourMs));
    const hour = clock.now();
    await first.send("report.complete");
    await pass(first, 10_000);
    expect(await hoursOf(first.receiver)).toEqual([[hour, genuine]]);
    await first.send("report.complete", { signature: "none" });
    // The last sign keeps what came after the one before.
    await first.receiver.close();
    const second = setUp({ inbox, clock, client: createClient(clientOptions) });
    second.seeAll();
    await second.post(first.emulator.notification("report.processing"));
    await pass(first, 10_000);
    const both = { ...genuine, accepted: 2, "verdict/valid": 2, verified: 2, handled: 2 };
    const sum = { ...both, accepted: 3, "held/unsigned": 1 };
    expect(await hoursOf(second.receiver)).toEqual([[hour, sum]]);
    await pass(first, hourMs);
    await second.post(first.emulator.notification("report.complete"));
    await pass(first, 10_000);
    expect(await hoursOf(second.receiver)).toEqual([
      [hour, sum],
      [hour + hourMs, genuine],
    ]);
    expect(await second.receiver.inbox.hours(new Date(hour + hourMs))).toHaveLength(1);
  });

  it("a receiver forgets hours after 30 days, and none in the first hour of a process", async () => {
    const inbox = memoryInbox();
    const watched = setUp({ inbox });
    const { clock } = watched.emulator;
    const now = Math.floor(clock.now() / hourMs);
    const keyOf = (hour: number): string => `${hourKey}${hour}/other`;
    const counts = JSON.stringify({ accepted: 1 });
    const old = [31, 29].map((days) => keyOf(now - (days * dayMs) / hourMs));
    await inbox.keepNotes(name, Object.fromEntries(old.map((key) => [key, counts])));
    await watched.receiver.start();
    const left = async () => Object.keys(await inbox.notes(name, hourKey)).sort();
    await pass(watched, hourMs - 2 * signMs);
    expect(await left()).toEqual(old.toSorted());
    await pass(watched, 4 * signMs);
    expect(await left()).toEqual(old.slice(1));
  });
});
