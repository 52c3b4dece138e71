import { rmSync } from "node:fs";
import type { Benchmark, Context, Result } from "../benchmark.ts";
import { startChild } from "../child.ts";
import { compare, cpu, generator } from "../compare.ts";
import type { Direct, Done } from "../direct.ts";
import { type EngineName, engines, withEngines } from "../engines.ts";
import { type InboxName, newFolder } from "../inboxes.ts";
import { type Sample, startTarget, type Variant } from "../over-http.ts";
import { numberText, ratios, show, spreadOf } from "../statistics.ts";

const measured: readonly InboxName[] = ["sqlite", ...engines];

/** The inbox in queues against the hand-made way on the same engine, and against a file. */
export const queues: Benchmark = {
  name: "queues",
  title: "Queues: against the hand-made way",
  about:
    "Express with BullMQ's queues on Redis (`appendfsync always`) and PostgreSQL. The hand-made way is `express.json()`, `await queue.add()`, 200, and a worker that does nothing: one stage where we have two, and no duplicates told unless the row says so. The first of each group is what the others are compared with; first acknowledged only, then worked on, too.",
  run: (context) =>
    withEngines(() =>
      compare(
        [false, true].flatMap((work) => engines.map((engine) => group(engine, work))),
        [
          { column: "requests/s", digits: 0, of: (s) => s.perSecond, compared: true },
          { column: "p50 ms", digits: 1, of: (s) => s.p50 },
          { column: "p99 ms", digits: 1, of: (s) => s.p99 },
          { column: "waiting at the end", digits: 0, of: (s) => s.waiting },
          cpu,
          generator,
        ],
        context,
      ),
    ),
};

function group(engine: EngineName, work: boolean): Variant[] {
  const host = "express";
  const byHand = (dedupes: boolean): Variant => ({
    ...{ host, inbox: "none", work, handMade: { engine, dedupes } },
  });
  return [
    byHand(false),
    byHand(true),
    { host, inbox: engine, work },
    { host, inbox: "sqlite", work },
  ];
}

/** How fast a backlog is handled by one to three processes. */
export const queueWorkers: Benchmark = {
  name: "queue-workers",
  title: "Queues: several workers",
  about:
    "What waits is verified and handled by 1, 2 and 3 processes, without HTTP; deliveries a second of all together.",
  run: (context) => withEngines(() => workers(context)),
};

async function workers({ rounds, scale, progress }: Context): Promise<Result> {
  const count = Math.round(20_000 * scale);
  const raw: Record<string, unknown> = {};
  const rows: string[][] = [];
  for (const inbox of measured) {
    const perSecond: [number[], number[], number[]] = [[], [], []];
    for (let round = 1; round <= rounds; round++) {
      for (const [index, all] of perSecond.entries()) {
        all.push(await drained(inbox, count, index + 1));
        progress(`${round}/${rounds} ${inbox}, ${index + 1}: ${Math.round(all.at(-1) ?? 0)}/s`);
      }
    }
    const [one] = perSecond;
    rows.push([
      inbox,
      ...perSecond.map((all) => numberText(spreadOf(all).median, 0)),
      ...perSecond.slice(1).map((all) => show(spreadOf(ratios(all, one)), 2)),
    ]);
    raw[inbox] = { count, perSecond };
  }
  return { columns: ["inbox", "1 worker", "2", "3", "2 / 1", "3 / 1"], rows, raw };
}

async function drained(inbox: InboxName, count: number, processes: number): Promise<number> {
  const folder = newFolder();
  const ask = { inbox, folder, count, atOnce: 256 };
  const seeding = startChild("direct");
  const children = Array.from({ length: processes }, () => startChild("direct"));
  try {
    await seeding.ask<Done>({ ...ask, work: false } satisfies Direct);
    await seeding.end();
    const done = children.map((child) =>
      child.ask<Done>({ ...ask, work: "drain" } satisfies Direct),
    );
    return (await Promise.all(done)).reduce((sum, { perSecond }) => sum + perSecond, 0);
  } finally {
    await Promise.all([seeding, ...children].map((child) => child.end()));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What acknowledging costs while more and more waits. */
export const queueBacklog: Benchmark = {
  name: "queue-backlog",
  title: "Queues: up to a million wait",
  about:
    "Acknowledging on Express with 1,000 to 1,000,000 deliveries waiting. They stay over all rounds, which are not in turns.",
  run: (context) => withEngines(() => backlogs(context)),
};

async function backlogs(context: Context): Promise<Result> {
  const sizes = [1_000, 10_000, 100_000, 1_000_000].map((size) => Math.round(size * context.scale));
  const rows: string[][] = [];
  const raw: Record<string, readonly Sample[]> = {};
  for (const inbox of measured) {
    let least: readonly number[] | undefined;
    for (const waiting of sizes) {
      context.progress(`${inbox}: storing ${numberText(waiting, 0)}`);
      const target = await startTarget({ host: "express", inbox, waiting }, context);
      const samples: Sample[] = [];
      try {
        for (let round = 1; round <= context.rounds; round++) samples.push(await target.load());
      } finally {
        await target.end();
      }
      const perSecond = samples.map((sample) => sample.perSecond);
      least ??= perSecond;
      rows.push([
        ...[inbox, numberText(waiting, 0), numberText(spreadOf(perSecond).median, 0)],
        show(spreadOf(ratios(perSecond, least)), 2),
        numberText(spreadOf(samples.map(({ p99 }) => p99)).median, 1),
      ]);
      raw[`${inbox} ${waiting}`] = samples;
    }
  }
  const columns = ["inbox", "waiting", "requests/s", "compared with the fewest", "p99 ms"];
  return { columns, rows, raw };
}
