import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Benchmark, type Effort, Skipped } from "./benchmark.ts";
import { acknowledge } from "./benchmarks/acknowledge.ts";
import { backlog } from "./benchmarks/backlog.ts";
import { groupCommit } from "./benchmarks/group-commit.ts";
import { insertAndHandle } from "./benchmarks/insert-and-handle.ts";
import { latency } from "./benchmarks/latency.ts";
import { queueBacklog, queues, queueWorkers } from "./benchmarks/queues.ts";
import { sustained } from "./benchmarks/sustained.ts";
import { telemetry } from "./benchmarks/telemetry.ts";
import { conditionsOf, type Finding, markdown } from "./report.ts";

const benchmarks: readonly Benchmark[] = [
  acknowledge,
  sustained,
  latency,
  telemetry,
  backlog,
  groupCommit,
  insertAndHandle,
  queues,
  queueWorkers,
  queueBacklog,
];

const efforts: Record<"full" | "quick", Effort> = {
  full: { rounds: 5, warmUpMs: 2_000, measureMs: 4_000, scale: 1 },
  quick: { rounds: 2, warmUpMs: 1_000, measureMs: 1_500, scale: 0.1 },
};

const help = `pnpm bench [--only NAME]... [--quick] [--out NAME]

Builds the packages, measures them and writes bench/report.md and bench/report.json.

  --only NAME  only this benchmark, and nothing is written unless --out is given; may be repeated
  --quick      few and short rounds, to see that everything runs
  --rounds N   so many rounds instead of ${efforts.full.rounds}
  --out NAME   write bench/NAME.md and bench/NAME.json
  --help       this text

REPORTHOOK_BENCH_DATA names a folder on the disk to measure (else the system's folder for temporary files).

${benchmarks.map(({ name, title }) => `  ${name.padEnd(18)} ${title}`).join("\n")}`;

async function measure(benchmark: Benchmark, effort: Effort): Promise<Finding> {
  const progress = (line: string): void => console.error(`  ${line}`);
  console.error(benchmark.title);
  try {
    return { benchmark, result: await benchmark.run({ ...effort, progress }) };
  } catch (error) {
    // What was measured before is not lost with it.
    if (!(error instanceof Skipped)) process.exitCode = 1;
    const skipped = error instanceof Error ? error.message : String(error);
    console.error(`  not measured: ${skipped}`);
    return { benchmark, result: { skipped } };
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", multiple: true },
      out: { type: "string" },
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(help);
    return;
  }
  const only = values.only ?? benchmarks.map(({ name }) => name);
  const unknown = only.find((name) => !benchmarks.some((benchmark) => benchmark.name === name));
  if (unknown !== undefined) throw new Error(`No benchmark is called ${unknown}\n\n${help}`);

  const usual = values.quick ? efforts.quick : efforts.full;
  const rounds = Number(values.rounds ?? usual.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds takes a number from 1 on");
  const effort = { ...usual, rounds };
  const command = ["pnpm bench", ...process.argv.slice(2)].join(" ");
  const conditions = conditionsOf(effort, command);
  const findings: Finding[] = [];
  for (const benchmark of benchmarks) {
    if (only.includes(benchmark.name)) findings.push(await measure(benchmark, effort));
  }
  const text = markdown(conditions, findings);
  console.log(text);
  const out = values.out ?? (values.only || values.quick ? undefined : "report");
  if (out === undefined) return;
  const file = join(import.meta.dirname, "..", out);
  const results = findings.map(({ benchmark: { name }, result }) => ({ name, result }));
  writeFileSync(`${file}.md`, text);
  writeFileSync(`${file}.json`, `${JSON.stringify({ conditions, results }, null, 1)}\n`);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
