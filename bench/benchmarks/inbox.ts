import { type Benchmark, figure, type Group } from "../benchmark.ts";
import { sharing } from "../cores.ts";
import { straightOn, workersOn } from "../inbox.ts";
import type { EngineName, InboxName } from "../inboxes.ts";

const perSecond = figure("deliveries/s", "perSecond", 0, { isCompared: true, isRow: true });
const cpu = figure("CPU µs/delivery", "cpuUs", 0);
const count = 100_000;

function group(inbox: Extract<InboxName, "memory" | "sqlite">): Group {
  const row = `${inbox} without HTTP, stored, verified and handled / stored`;
  return {
    name: inbox,
    subjects: [
      straightOn(inbox, "store", count, { label: `${inbox}, stored` }),
      straightOn(inbox, "store and handle", count, {
        label: `${inbox}, handled`,
        ...(inbox === "sqlite" && { row }),
      }),
    ],
  };
}

/** The cost of the work after the acknowledgement, without HTTP. */
export const withoutHttp: Benchmark = {
  name: "without-http",
  title: "Storing, and storing with verifying and handling, without HTTP",
  about:
    "Straight on the inbox, 256 adds at once: stored only, and stored while a receiver verifies and handles until nothing waits. At most 2,000 wait.",
  figures: [perSecond, cpu],
  groups: [group("memory"), group("sqlite")],
};

// More than can be worked on in a second.
const waitingPerSecond = { redis: 8_000, postgres: 2_000 } as const;

/** How much more two processes handle than one. */
export const workers: Benchmark = {
  name: "workers",
  title: "Two workers against one",
  about: `More waits in BullMQ's queues than can be verified and handled in the time, without HTTP, and one or two processes work on it, each with the usual \`concurrency\`: ${sharing}. A delivery passes two stages, of which the first may be ahead of the second when the time is over: counted is half of all that passed either.`,
  figures: [perSecond],
  groups: (["redis", "postgres"] as const).map((engine: EngineName) => ({
    name: engine,
    engine,
    subjects: [
      workersOn(engine, 1, waitingPerSecond[engine], { label: `${engine}, one worker` }),
      workersOn(engine, 2, waitingPerSecond[engine], {
        label: `${engine}, two workers`,
        ...(engine === "redis" && {
          row: "two workers on redis / one, each with its own share of the cores",
        }),
      }),
    ],
  })),
};
