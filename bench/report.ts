import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { Benchmark, Effort, Result } from "./benchmark.ts";
import { newFolder } from "./inboxes.ts";
import { spreadOf } from "./statistics.ts";

/** A benchmark, what it found, and how. */
export interface Finding {
  readonly benchmark: Benchmark;
  readonly conditions: Conditions;
  readonly result: Result;
}

/** Where and how it was measured. */
export interface Conditions {
  readonly node: string;
  readonly machine: string;
  readonly fsyncMs: number;
  /** How many processes of others ran when it began. */
  readonly othersRunning: number;
  readonly date: string;
  readonly command: string;
  readonly effort: Effort;
}

/** The conditions of this run. */
export function conditionsOf(effort: Effort, command: string): Conditions {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return {
    node: process.version,
    machine: `${cpus().length} × ${cpu?.model ?? "?"}, ${memory} GB, ${platform()} ${release()} ${arch()}`,
    fsyncMs: measureFsync(),
    othersRunning: loadavg()[0] ?? 0,
    date: new Date().toISOString().slice(0, 10),
    command,
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
    "- rounds are taken in turns (A B C, A B C, …), each on new servers",
    "- a figure is the median over the rounds; a ratio is taken in each round, and shown as `median (min–max)`",
    "- the packages as they are published (`dist`), under plain `node`",
    "- the generator writes prebuilt requests to raw sockets: a general one (autocannon) spent more on a request than bare `node:http` did, and measured itself. It fails at any answer but 200",
    "- over a load average of 0.5 not even the ratios hold, only CPU µs/request roughly does",
    ...findings.flatMap((finding, at) => section(finding, findings[at - 1])),
  ];
  return `${lines.join("\n")}\n`;
}

function described({ benchmark, conditions }: Finding): string {
  const { node, machine, fsyncMs, othersRunning, date, effort } = conditions;
  const { rounds, warmUpMs, measureMs, scale } = effort;
  const again = `pnpm bench --only ${benchmark.name} --rounds ${rounds}${scale === 1 ? "" : " --quick"}`;
  const times = `${warmUpMs / 1_000} s to warm up and ${measureMs / 1_000} s measured`;
  return [
    `Measured on ${date}, again with \`${again}\`: ${rounds} rounds of ${times}; Node ${node},`,
    `${machine}, fsync ${fsyncMs.toFixed(2)} ms, load average ${othersRunning.toFixed(1)} when it began.`,
  ].join("\n");
}

function section(finding: Finding, before: Finding | undefined): string[] {
  const { benchmark, result } = finding;
  const about = `\`${benchmark.name}\`: ${benchmark.about}`;
  const title =
    benchmark === before?.benchmark
      ? [`### ${benchmark.title}, on Node ${nodeOf(finding.conditions)}`]
      : [`## ${benchmark.title}`, "", about];
  const head = ["", ...title, "", described(finding), ""];
  const { columns, rows, missing = [] } = result;
  const again = `Again: \`pnpm bench --only ${benchmark.name}\``;
  const absent = missing.length === 0 ? [] : [`**Not measured**: ${missing.join("; ")}. ${again}.`];
  const notes = [...(result.notes ?? []), ...absent].flatMap((note) => ["", note]);
  if (rows.length === 0) return [...head, ...notes.slice(1)];
  const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = row(columns.map((_, at) => (at === 0 ? "---" : "---:")));
  return [...head, row(columns), rule, ...rows.map(row), ...notes];
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
