import { rmSync } from "node:fs";
import { type Benchmark, type Context, inParts, type Result } from "../benchmark.ts";
import { startChild } from "../child.ts";
import { withEngine } from "../engines.ts";
import { newFolder } from "../inboxes.ts";
import { onInboxOf } from "../on-inbox.ts";
import { fillAtOnce } from "../seed.ts";
import { numberText, ratios, show, spreadOf } from "../statistics.ts";
import type { Count, Counted, Work } from "../worker.ts";

// For each second in which they are worked on, and more than can be.
const waitingPerSecond = { sqlite: 20_000, redis: 6_000, postgres: 2_000 } as const;

type Measured = keyof typeof waitingPerSecond;

const measured: readonly Measured[] = ["sqlite", "redis", "postgres"];
const widths = [1, 2, 3];

/** How fast a backlog is handled by one to three processes. */
export const queueWorkers: Benchmark = {
  name: "queue-workers",
  title: "Queues: several workers",
  about:
    "More waits than can be verified and handled in the time, without HTTP, and 1, 2 and 3 processes work on it, each with the usual `concurrency`; deliveries a second of all together. A delivery passes two stages, of which the first may be ahead of the second when the time is over: counted is half of all that passed either. Everything, engine and processes, shares the machine's cores.",
  run,
};

async function run(context: Context): Promise<Result> {
  const { rounds, doing, progress } = context;
  const raw: Record<string, unknown> = {};
  const rows: string[][] = [];
  const missing = await inParts(measured, String, async (inbox) => {
    const all: Counted[][] = [];
    try {
      for (let round = 1; round <= rounds; round++) {
        const ofRound: Counted[] = [];
        doing(`${round}/${rounds} ${inbox}, starting`);
        await withEngine(inbox, async () => {
          for (const width of widths) {
            const head = `${round}/${rounds} ${inbox}, workers: ${width}`;
            doing(head);
            const counted = await together(inbox, width, context);
            ofRound.push(counted);
            progress(`${head}: ${Math.round(perSecond(counted))}/s`);
          }
        });
        all.push(ofRound);
      }
    } finally {
      if (all.length > 0) rows.push(rowOf(inbox, all));
      raw[inbox] = all;
    }
  });
  return { columns: ["inbox", "1 worker", "2", "3", "2 / 1", "3 / 1"], rows, missing, raw };
}

/** Resolves to the sum of what each process does while all of them work. */
async function together(
  inbox: Measured,
  processes: number,
  { warmUpMs, measureMs, detail }: Context,
): Promise<Counted> {
  const folder = newFolder();
  const workers: ReturnType<typeof startChild>[] = [];
  try {
    const count = Math.round((waitingPerSecond[inbox] * (warmUpMs + measureMs)) / 1_000);
    await onInboxOf({ inbox, folder, count, atOnce: fillAtOnce, work: false }, detail);
    detail(": at work");
    for (let at = 0; at < processes; at++) workers.push(startChild("worker"));
    const started = workers.map((worker) => worker.ask({ inbox, folder } satisfies Work));
    await Promise.all(started);
    const time: Count = { warmUpMs, measureMs };
    const counted = await Promise.all(workers.map((worker) => worker.ask<Counted>(time)));
    const sum = (of: keyof Counted): number => counted.reduce((total, one) => total + one[of], 0);
    const left = Math.min(...counted.map((one) => one.left));
    if (left === 0) {
      throw new Error(
        `${numberText(count, 0)} were too few for ${processes} to work on all the time: raise waitingPerSecond`,
      );
    }
    return { verified: sum("verified"), handled: sum("handled"), left };
  } finally {
    await Promise.all(workers.map((worker) => worker.end()));
    rmSync(folder, { recursive: true, force: true });
  }
}

function perSecond({ verified, handled }: Counted): number {
  return (verified + handled) / 2;
}

function rowOf(inbox: string, rounds: readonly (readonly Counted[])[]): string[] {
  const ofWidth = widths.map((_, at) => rounds.map((round) => perSecond(round[at] as Counted)));
  const [one = []] = ofWidth;
  return [
    inbox,
    ...ofWidth.map((all) => numberText(spreadOf(all).median, 0)),
    ...ofWidth.slice(1).map((all) => show(spreadOf(ratios(all, one)), 2)),
  ];
}
