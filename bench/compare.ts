import { type Context, inParts, type Result } from "./benchmark.ts";
import { engines } from "./engines.ts";
import { inboxesHere } from "./inboxes.ts";
import { inTurns, labelOf, type Sample, type Turns, type Variant } from "./over-http.ts";
import { numberText, ratios, show, spreadOf } from "./statistics.ts";

/** What is measured of a server, and how a table shows it. */
export interface Figure {
  readonly column: string;
  readonly digits: number;
  of(sample: Sample): number;
  /** Also as a ratio to the first variant of its group. */
  readonly compared?: boolean;
}

/** Why a table has no rows for the SQLite inbox. */
export const withoutSqlite = "`@reporthook/sqlite` is not here: its rows are left out.";

/** The generator must not be what is measured. */
export const generator: Figure = {
  column: "generator, cores",
  digits: 2,
  of: (sample) => sample.generator,
};

/** What a request costs, whoever else uses the machine. */
export const cpu: Figure = {
  column: "CPU µs/request",
  digits: 0,
  of: (sample) => (sample.cpu / sample.answered) * 1_000,
};

/** How long the event loop is held up, where the server is under load all the time. */
export const loopDelay: Figure = {
  column: "loop delay p99 ms",
  digits: 1,
  of: (sample) => sample.loopP99,
};

/** How many are answered, and how soon. */
export const answering: readonly Figure[] = [
  { column: "requests/s", digits: 0, of: (s) => s.perSecond, compared: true },
  { column: "p50 ms", digits: 1, of: (s) => s.p50 },
  { column: "p99 ms", digits: 1, of: (s) => s.p99 },
  loopDelay,
  cpu,
  generator,
];

/** How variants are compared. */
export interface Comparison extends Turns {
  /** What the first of a group is called where others are compared with it. */
  readonly base?: string;
}

/** Measures groups of variants, the first of each being what the others are compared with. */
export async function compare(
  groups: readonly (readonly Variant[])[],
  figures: readonly Figure[],
  context: Context,
  { base = "bare", ...turns }: Comparison = {},
): Promise<Result> {
  const here: readonly string[] = [...inboxesHere(), ...engines];
  const known = groups.map((group) =>
    group.filter(({ inbox }) => inbox === "none" || here.includes(inbox)),
  );
  const raw: Record<string, readonly Sample[]>[] = [];
  const rows: string[][] = [];
  const show = (samples: ReadonlyMap<string, readonly Sample[]>): void => {
    const [first = []] = samples.values();
    if (first.length === 0) return;
    raw.push(Object.fromEntries(samples));
    for (const [label, own] of samples) {
      rows.push([label, ...figures.flatMap((figure) => cells(figure, own, first))]);
    }
  };
  const nameOf = (group: readonly Variant[]): string => group.map(labelOf).join(" · ");
  const missing = await inParts(known, nameOf, (group) => inTurns(group, context, show, turns));
  return {
    columns: ["server", ...figures.flatMap((figure) => headings(figure, base))],
    rows,
    notes: here.includes("sqlite") ? [] : [withoutSqlite],
    missing,
    raw,
  };
}

/** A variant bare, and with each inbox. */
export function withEachInbox(variant: Omit<Variant, "inbox">): Variant[] {
  return [
    { host: variant.host, inbox: "none" },
    { ...variant, inbox: "memory" },
    { ...variant, inbox: "sqlite" },
  ];
}

function headings({ column, compared }: Figure, base: string): string[] {
  return compared ? [column, `${column} / ${base}`] : [column];
}

function cells({ digits, of, compared }: Figure, own: readonly Sample[], base: readonly Sample[]) {
  const values = own.map(of);
  const median = numberText(spreadOf(values).median, digits);
  if (!compared) return [median];
  return [median, own === base ? "1" : show(spreadOf(ratios(values, base.map(of))), 2)];
}
