import { describe, expect, it } from "vitest";
import { zeroCounts } from "../inbox/counts.ts";
import type { Entry, State } from "../inbox/delivery.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { type ReceiverView, toolView } from "../inbox/receiver-inbox.ts";
import type { Phase } from "../inbox/receivers.ts";
import type { OverdueSweep } from "../reports/overdue-sweep.ts";
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

const sweep = { tellDue: async () => {} } as OverdueSweep;

const viewOf = ({ inbox }: ReturnType<typeof inboxOf>, phase: Phase = "working"): ReceiverView => ({
  ...toolView(Object.assign(memoryInbox(), inbox), "reports"),
  phase,
});

const idle = (looks: readonly Counted[], first?: Partial<Entry> | null, phase?: Phase) =>
  untilIdle(viewOf(inboxOf(looks, first), phase), sweep, 0);

describe("waiting", () => {
  it("untilIdle() resolves at once when nothing waits, also when deliveries have ended", async () => {
    await expect(idle([{ handled: 5, held: 1, dead: 2, rejected: 3 }])).resolves.toBeUndefined();
  });

  it("untilIdle() looks again until nothing waits", async () => {
    const looks = inboxOf([{ received: 1 }, { verified: 1 }, {}]);
    await untilIdle(viewOf(looks), sweep, 600_000);
    expect(looks.asked).toEqual([
      "counts",
      { state: "received", limit: 1, receiver: "reports" },
      "counts",
      { state: "verified", limit: 1, receiver: "reports" },
      "counts",
    ]);
  });

  it.each<[Counted, Partial<Entry> | null, Phase, string]>([
    [
      { received: 2, verified: 3 },
      { id: "d1", type: null, lastError: null },
      "working",
      "2 received, 3 verified; for example d1 (not verified)",
    ],
    [
      { verified: 1 },
      { id: "d2", type: "report.complete", lastError: "Error: no\n  at x" },
      "working",
      "0 received, 1 verified; for example d2 (report.complete, last error: Error: no)",
    ],
    [{ received: 1 }, null, "working", "1 received, 0 verified"],
    [{ received: 1 }, null, "new", "1 received, 0 verified; the receiver is not started"],
  ])("untilIdle() rejects with counts: %o", async (counts, first, phase, waiting) => {
    await expect(idle([counts], first, phase)).rejects.toMatchObject({
      code: "not_idle",
      message: `Receiver reports is not idle after 0 ms: ${waiting}`,
    });
  });
});
