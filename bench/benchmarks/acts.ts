import { type Benchmark, figure, type Subject } from "../benchmark.ts";
import { startChild } from "../child.ts";
import { inNewFolder } from "../inbox.ts";
import type { Released, Task } from "../programs/acts.ts";
import { type HowFar, howFar } from "../progress.ts";
import { numberText } from "../statistics.ts";

function released(count: number): Subject {
  const measure: Subject["measure"] = ({ build, scale, detail }) =>
    inNewFolder(async (folder) => {
      const child = startChild("acts", { build });
      child.onNews((news) => detail(howFar(news as HowFar)));
      const given: Task = { folder, count: Math.round(count * scale) };
      return { ...(await child.ask<Released>(given).finally(() => child.end())) };
    });
  return { label: `${numberText(count, 0)} parked ones released`, measure };
}

/** The cost of an act on many deliveries. */
export const acts: Benchmark = {
  name: "acts",
  title: "What an act on many deliveries costs",
  about:
    "`receiver.inbox.release` of all that is parked for one reason in a SQLite file, while a notification comes in every 20 ms: how long it takes, the slowest answer meanwhile (sent by the same process), and the memory that is added at most.",
  figures: [
    figure("s", "seconds", 2, { isCompared: true }),
    figure("slowest answer ms", "answerMs", 0),
    figure("more RSS MB", "moreMB", 0),
  ],
  maxRounds: 3,
  groups: [{ name: "release", subjects: [10_000, 100_000].map(released) }],
};
