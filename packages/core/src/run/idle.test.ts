import { describe, expect, it } from "vitest";
import { zeroCounts } from "../inbox/counts.ts";
import type { Entry, State } from "../inbox/delivery.ts";
import { untilIdle } from "./idle.ts";

type Counted = Partial<Record<State, number>>;

/** An inbox whose counts change from look to look, and stay as the last. */
function inboxOf(
  looks: readonly Counted[],
  first: Partial<Entry> | null = { id: "d1", type: null },
) {
  const asked: unknown[] = [];
  let look = 0;
  const inbox = {
    counts: async () => {
      asked.push("counts");
      return { ...zeroCounts(), ...looks[Math.min(look++, looks.length - 1)] };
    },
    list: async (query: unknown) => {
      asked.push(query);
      return first === null ? [] : [first as Entry];
    },
  };
  return { inbox, asked };
}

const tell = async (): Promise<void> => {};

const idle = (looks: readonly Counted[], first?: Partial<Entry> | null, started = true) =>
  untilIdle({ inbox: inboxOf(looks, first).inbox, name: "reports", tell, started }, 0);

describe("waiting", () => {
  it("untilIdle() resolves at once when nothing waits, also when deliveries have ended", async () => {
    await expect(idle([{ handled: 5, held: 1, dead: 2, rejected: 3 }])).resolves.toBeUndefined();
  });

  it("untilIdle() looks again until nothing waits", async () => {
    const { inbox, asked } = inboxOf([{ received: 1 }, { verified: 1 }, {}]);
    await untilIdle({ inbox, name: "reports", tell, started: true }, 600_000);
    expect(asked).toEqual([
      "counts",
      { state: "received", limit: 1 },
      "counts",
      { state: "verified", limit: 1 },
      "counts",
    ]);
  });

  it.each<[Counted, Partial<Entry> | null, boolean, string]>([
    [
      { received: 2, verified: 3 },
      { id: "d1", type: null, lastError: null },
      true,
      "2 received, 3 verified; for example d1 (not verified)",
    ],
    [
      { verified: 1 },
      { id: "d2", type: "report.complete", lastError: "Error: no\n  at x" },
      true,
      "0 received, 1 verified; for example d2 (report.complete, last error: Error: no)",
    ],
    [{ received: 1 }, null, true, "1 received, 0 verified"],
    [{ received: 1 }, null, false, "1 received, 0 verified; the receiver is not started"],
  ])("untilIdle() rejects with counts: %o", async (counts, first, started, waiting) => {
    await expect(idle([counts], first, started)).rejects.toMatchObject({
      code: "not_idle",
      message: `Receiver reports is not idle after 0 ms: ${waiting}`,
    });
  });
});
