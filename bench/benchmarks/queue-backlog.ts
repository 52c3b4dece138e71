import { type Benchmark, type Context, inParts, type Result } from "../benchmark.ts";
import { type EngineName, engines, withEngine } from "../engines.ts";
import { type Sample, startTarget } from "../over-http.ts";
import { fillAtOnce, type Seeded } from "../seed.ts";
import { numberText, ratios, show, spreadOf } from "../statistics.ts";

const sizes = [1_000, 10_000, 100_000, 1_000_000];
// A round adds tens of thousands: what is less begins anew in each.
const stays = 100_000;

/** What acknowledging costs while more and more waits. */
export const queueBacklog: Benchmark = {
  name: "queue-backlog",
  title: "Queues: up to a million wait",
  about: `Acknowledging on Express while nobody works on what waits (of SQLite: \`backlog\`). Each row has an engine of its own, which was empty; up to 10,000 in each round, above over all of them. What is acknowledged waits, too: the third column is what it came to. Stored are those that wait, by one process straight on the inbox, ${fillAtOnce} adds at once.`,
  run,
};

interface Part {
  readonly engine: EngineName;
  readonly waiting: number;
}

interface Measured {
  readonly samples: readonly Sample[];
  readonly seeded: Seeded;
}

async function run(context: Context): Promise<Result> {
  const rows: string[][] = [];
  const notes: string[] = [];
  const raw: Record<string, Measured> = {};
  const fewest = new Map<EngineName, readonly number[]>();
  const parts = engines.flatMap((engine) =>
    sizes.map((size) => ({ engine, waiting: Math.round(size * context.scale) })),
  );
  const missing = await inParts(parts, nameOf, async (part) => {
    const { engine } = part;
    const measured = await measure(part, context);
    const { samples, seeded } = measured;
    const perSecond = samples.map((sample) => sample.perSecond);
    const least = fewest.get(engine) ?? perSecond;
    fewest.set(engine, least);
    rows.push([
      ...[engine, numberText(seeded.count, 0)],
      numberText(Math.max(...samples.map((sample) => sample.waiting)), 0),
      numberText(spreadOf(perSecond).median, 0),
      show(spreadOf(ratios(perSecond, least)), 2),
      numberText(spreadOf(samples.map(({ p99 }) => p99)).median, 1),
      part.waiting < stays ? "" : numberText(seeded.perSecond, 0),
    ]);
    raw[nameOf(part)] = measured;
    if (seeded.count < part.waiting) {
      notes.push(
        `${nameOf(part)}: in ${context.fillMs / 1_000} s (\`--fill\`) only ${numberText(seeded.count, 0)} could be stored.`,
      );
    }
  });
  const columns = ["inbox", "waiting", "at the end", "requests/s"];
  columns.push("compared with the fewest", "p99 ms", "stored/s");
  return { columns, rows, notes, missing, raw };
}

function nameOf({ engine, waiting }: Part): string {
  return `${engine}, ${numberText(waiting, 0)} wait`;
}

async function measure(part: Part, context: Context): Promise<Measured> {
  const { engine, waiting } = part;
  const { rounds, doing, progress } = context;
  const samples: Sample[] = [];
  let seeded: Seeded = { count: 0, perSecond: 0 };
  const again = (): number => (waiting < stays ? samples.length + 1 : rounds);
  while (samples.length < rounds) {
    const name = nameOf(part);
    doing(`${name}, stored`);
    await withEngine(engine, async () => {
      const serve = { host: "express", inbox: engine, waiting, fillMs: context.fillMs } as const;
      const target = await startTarget(serve, context);
      seeded = target.seeded ?? seeded;
      try {
        for (const last = again(); samples.length < last; ) {
          const head = `${samples.length + 1}/${rounds} ${name}`;
          doing(head);
          const sample = await target.load();
          samples.push(sample);
          progress(`${head}: ${Math.round(sample.perSecond)}/s, p99 ${sample.p99.toFixed(1)} ms`);
        }
      } finally {
        await target.end();
      }
    });
  }
  return { samples, seeded };
}
