import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";
import { basename, join } from "node:path";
import { performance } from "node:perf_hooks";
import type { Benchmark, Effort, Figure, Sample } from "./benchmark.ts";
import { newFolder } from "./inboxes.ts";
import type { Builds, Found, FoundGroup } from "./measure.ts";
import { numberText, ratios, show, spreadOf } from "./statistics.ts";

/** The measurements of a benchmark, and their conditions. */
export interface Finding {
  readonly benchmark: Benchmark;
  readonly conditions: Conditions;
  readonly groups: readonly FoundGroup[];
}

/** Where and how it was measured. */
export interface Conditions {
  readonly node: string;
  readonly machine: string;
  readonly fsyncMs: number;
  /** The load average when it began. */
  readonly load: number;
  readonly date: string;
  readonly effort: Effort;
}

/** The conditions of this run. */
export function conditionsOf(effort: Effort): Conditions {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return {
    node: process.version,
    machine: `${cpus().length} × ${cpu?.model ?? "?"}, ${memory} GB, ${platform()} ${release()} ${arch()}`,
    fsyncMs: measureFsync(),
    load: loadavg()[0] ?? 0,
    date: new Date().toISOString().slice(0, 10),
    effort,
  };
}

/** The major version of Node that it was measured on. */
export function nodeOf({ node }: Conditions): number {
  return Number.parseInt(node.slice(1), 10);
}

/** The report as Markdown: what one benchmark found on several versions of Node stands together. */
export function markdown(findings: readonly Finding[]): string {
  const lines = [
    "# What was measured",
    "",
    "Written by `pnpm bench`; do not edit. Ratios hold, absolute figures are those of one machine:",
    "",
    "- every request has its own signature and its own 600-byte body; 64 connections; server and generator are processes of their own",
    "- rounds are taken in turns (A B C, C B A, …), each on new servers",
    "- a figure is the median over the rounds; a ratio is taken in each round, and shown as `median (min–max)`",
    "- the packages as they are published (`dist`), under plain `node`",
    "- the generator writes prebuilt requests to raw sockets: a general one (autocannon) spent more on a request than bare `node:http` did, and measured itself. It fails at any answer but 200",
    "- over a load average of 0.5 not even the ratios hold, only CPU µs/request roughly does",
    "",
    tables(findings),
  ];
  return `${lines.join("\n")}\n`;
}

/** The report without its introduction: the tables of all findings. */
export function tables(findings: readonly Finding[]): string {
  const lines = [
    ...overview(findings),
    ...findings.flatMap((finding, at) => section(finding, findings[at - 1])),
  ];
  return lines.slice(1).join("\n");
}

/** Two builds: the rows, and how much of each there is in one for one in the other. */
export function sideBySide(findings: readonly Finding[], { other }: Builds): string {
  const [here, there] = ["here", basename(other)];
  const rows = findings.flatMap(({ benchmark, groups }) =>
    groups.flatMap(({ name, subjects }) =>
      subjects.flatMap((mine) => {
        const theirs = subjects.find(({ label }) => label === mine.other);
        const isMeasured = mine.samples.length > 0;
        if (theirs === undefined || !isMeasured) return [];
        return benchmark.figures
          .filter((figure) => figure.isCompared || figure.column.startsWith("CPU"))
          .map((figure) => {
            const values = valuesOf(theirs, figure);
            return [
              `${benchmark.name}/${name}: ${mine.label}, ${figure.column}`,
              medianOf(mine, figure),
              medianOf(theirs, figure),
              show(spreadOf(ratios(valuesOf(mine, figure), values)), 2),
              ...[mine, theirs].map((one) => ratioText(one, subjects, figure, "")),
            ];
          });
      }),
    ),
  );
  const columns = ["", here, there, `${here} / ${there}`, `${here} / base`, `${there} / base`];
  return table(columns, rows).join("\n");
}

/** The rows that answer what the work aims at. */
function overview(findings: readonly Finding[]): string[] {
  const rows = findings.flatMap(({ benchmark, conditions, groups }) => {
    const figure = benchmark.figures.find(({ isRow }) => isRow);
    if (figure === undefined) return [];
    const { node, date, effort } = conditions;
    return groups.flatMap(({ subjects }) =>
      subjects.flatMap((one) => {
        const base = subjects.find(({ label }) => label === one.base);
        if (one.row === undefined || base === undefined || one.samples.length === 0) return [];
        const [mine, theirs] = [one, base].map((of) => medianOf(of, figure));
        const where = `${date}, ${node}, ${effort.rounds} rounds`;
        return [[one.row, ratioText(one, subjects, figure, ""), `${mine} / ${theirs}`, where]];
      }),
    );
  });
  if (rows.length === 0) return [];
  const columns = ["", "ratio", "medians", "measured"];
  return ["", "## In short", "", ...table(columns, rows)];
}

function section(finding: Finding, before: Finding | undefined): string[] {
  const { benchmark, groups } = finding;
  const about = `\`${benchmark.name}\`: ${benchmark.about}`;
  const title =
    benchmark === before?.benchmark
      ? [`### ${benchmark.title}, on Node ${nodeOf(finding.conditions)}`]
      : [`## ${benchmark.title}`, "", about];
  const missing = groups.flatMap((group) => group.missing ?? []);
  const rows = groups.flatMap(({ subjects }) =>
    subjects.flatMap((one) =>
      one.samples.length === 0
        ? []
        : [[one.label, ...benchmark.figures.flatMap((figure) => cells(one, subjects, figure))]],
    ),
  );
  const headings = benchmark.figures.flatMap(({ column, isCompared }) =>
    isCompared ? [column, "ratio"] : [column],
  );
  return [
    "", ...title, "", described(finding),
    ...(rows.length > 0 ? ["", ...table(["", ...headings], rows)] : []),
    ...(missing.length > 0 ? ["", `**Not measured**: ${missing.join("; ")}.`] : []),
  ];
}

function described({ benchmark, conditions }: Finding): string {
  const { node, machine, fsyncMs, load, date, effort } = conditions;
  const { rounds, warmUpMs, measureMs, scale } = effort;
  const again = `pnpm bench ${benchmark.name} --rounds ${rounds}${scale === 1 ? "" : " --quick"}`;
  const times = `${warmUpMs / 1_000} s to warm up and ${measureMs / 1_000} s measured`;
  return [
    `Measured on ${date}, again with \`${again}\`: ${rounds} rounds of ${times}; Node ${node},`,
    `${machine}, fsync ${fsyncMs.toFixed(2)} ms, load average ${load.toFixed(1)} when it began.`,
  ].join("\n");
}

function cells(one: Found, all: readonly Found[], figure: Figure): string[] {
  const median = medianOf(one, figure);
  return figure.isCompared ? [median, ratioText(one, all, figure)] : [median];
}

/** The ratio to the base; names that where it is not the first of the group. */
function ratioText(
  one: Found,
  all: readonly Found[],
  figure: Figure,
  suffix: string = one.base === all[0]?.label ? "" : ` of “${one.base}”`,
): string {
  const base = all.find(({ label }) => label === one.base);
  if (base === undefined) return "";
  if (base === one) return "1";
  const ratio = show(spreadOf(ratios(valuesOf(one, figure), valuesOf(base, figure))), 2);
  return `${ratio}${suffix}`;
}

function valuesOf({ samples }: Found, { of }: Figure): number[] {
  return samples.map((sample: Sample) => of(sample));
}

function medianOf(one: Found, figure: Figure): string {
  return numberText(spreadOf(valuesOf(one, figure)).median, figure.digits);
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const row = (texts: readonly string[]): string => `| ${texts.join(" | ")} |`;
  const rule = row(columns.map((_, at) => (at === 0 ? "---" : "---:")));
  return [row(columns), rule, ...rows.map(row)];
}

function measureFsync(): number {
  const folder = newFolder();
  const file = openSync(join(folder, "file"), "w");
  const times = Array.from({ length: 100 }, () => {
    writeSync(file, Buffer.alloc(4_096));
    const from = performance.now();
    fsyncSync(file);
    return performance.now() - from;
  });
  closeSync(file);
  rmSync(folder, { recursive: true });
  return spreadOf(times).median;
}
