import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Benchmark, type Effort, whyNot } from "./benchmark.ts";
import { acknowledge } from "./benchmarks/acknowledge.ts";
import { backlog } from "./benchmarks/backlog.ts";
import { file } from "./benchmarks/file.ts";
import { groupCommit } from "./benchmarks/group-commit.ts";
import { insertAndHandle } from "./benchmarks/insert-and-handle.ts";
import { latency } from "./benchmarks/latency.ts";
import { queueBacklog } from "./benchmarks/queue-backlog.ts";
import { queueWorkers } from "./benchmarks/queue-workers.ts";
import { queues } from "./benchmarks/queues.ts";
import { sustained } from "./benchmarks/sustained.ts";
import { telemetry } from "./benchmarks/telemetry.ts";
import { stopChildren } from "./child.ts";
import { createProgress } from "./progress.ts";
import { type Conditions, conditionsOf, type Finding, markdown, nodeOf } from "./report.ts";

const benchmarks: readonly Benchmark[] = [
  acknowledge,
  sustained,
  latency,
  telemetry,
  backlog,
  file,
  groupCommit,
  insertAndHandle,
  queues,
  queueWorkers,
  queueBacklog,
];

const efforts: Record<"full" | "quick", Effort> = {
  full: { rounds: 5, warmUpMs: 2_000, measureMs: 4_000, scale: 1, fillMs: 300_000 },
  quick: { rounds: 2, warmUpMs: 1_000, measureMs: 1_500, scale: 0.1, fillMs: 60_000 },
};

const help = `pnpm bench [--only NAME]... [--quick] [--rounds N] [--fill N] [--out NAME]

Builds the packages, measures them and writes bench/report.md and bench/report.json, anew after each benchmark. Ctrl-C ends
it with what was measured until then, a second one at once.

  --only NAME  only this benchmark, and nothing is written unless --out is given; may be repeated
  --quick      few and short rounds, to see that everything runs
  --rounds N   so many rounds instead of ${efforts.full.rounds}
  --fill N     in queue-backlog take at most N seconds to store what is to wait, instead of ${efforts.full.fillMs / 1_000}
  --out NAME   write bench/NAME.md and bench/NAME.json, or elsewhere if it is an absolute path; what other benchmarks
               have written there stays, and what was written on another major version of Node
  --help       this text

Ends with 0, with 1 when something failed, and with 130 when it was ended.
REPORTHOOK_BENCH_DATA names a folder on the disk to measure (else the system's folder for temporary files).

${benchmarks.map(({ name, title }) => `  ${name.padEnd(18)} ${title}`).join("\n")}`;

let stopped = false;

async function measure(benchmark: Benchmark, conditions: Conditions): Promise<Finding> {
  console.error(benchmark.title);
  const progress = createProgress();
  const result = await benchmark
    .run({ ...conditions.effort, ...progress })
    .catch((error: unknown) => {
      // What was measured before is not lost with it.
      return { columns: [], rows: [], missing: [whyNot(error)], raw: null };
    });
  progress.end();
  for (const reason of result.missing ?? []) console.error(`  not measured: ${reason}`);
  return { benchmark, conditions, result };
}

/** Ends the run at a signal, as far as it got. */
function endAt(signal: NodeJS.Signals): void {
  // The package of PostgreSQL listens too, and would end the process at once.
  process.removeAllListeners(signal).on(signal, () => {
    if (stopped) process.exit(130);
    stopped = true;
    stopChildren(`somebody ended it (${signal})`);
  });
}

/** A number from 1 on that the command line may give. */
function given(option: string, text: string | undefined, usual: number): number {
  const value = Number(text ?? usual);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new Error(`--${option} takes a number from 1 on, not ${text}`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", multiple: true },
      out: { type: "string" },
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      fill: { type: "string" },
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
  const rounds = given("rounds", values.rounds, usual.rounds);
  const fillMs = given("fill", values.fill, usual.fillMs / 1_000) * 1_000;
  const effort = { ...usual, rounds, fillMs };
  const command = ["pnpm bench", ...process.argv.slice(2)].join(" ");
  const conditions = conditionsOf(effort, command);
  const out = values.out ?? (values.only || values.quick ? undefined : "report");
  const findings: Finding[] = [];
  const isMeasuredAgain = (one: Finding): boolean =>
    only.includes(one.benchmark.name) && nodeOf(one.conditions) === nodeOf(conditions);
  const kept = out === undefined ? [] : read(out).filter((one) => !isMeasuredAgain(one));
  endAt("SIGINT");
  endAt("SIGTERM");
  for (const benchmark of benchmarks) {
    if (stopped || !only.includes(benchmark.name)) continue;
    findings.push(await measure(benchmark, conditions));
    if (out !== undefined) write(out, [...findings, ...kept]);
  }
  console.log(markdown(findings));
}

const fileOf = (out: string): string => resolve(import.meta.dirname, "..", out);

/**
 * What was written before, by benchmarks that there still are.
 * @throws Error when nothing could be written there, for that is known before minutes are measured
 */
function read(out: string): Finding[] {
  const folder = dirname(fileOf(out));
  if (!existsSync(folder))
    throw new Error(`--out takes a name, or a path in a folder that exists; there is no ${folder}`);
  const file = `${fileOf(out)}.json`;
  if (!existsSync(file)) return [];
  const written = JSON.parse(readFileSync(file, "utf8")) as (Omit<Finding, "benchmark"> & {
    readonly name: string;
  })[];
  return written.flatMap(({ name, ...rest }) => {
    const benchmark = benchmarks.find((one) => one.name === name);
    return benchmark === undefined ? [] : [{ benchmark, ...rest }];
  });
}

function write(out: string, findings: readonly Finding[]): void {
  const inOrder = benchmarks.flatMap((one) =>
    findings
      .filter(({ benchmark }) => benchmark === one)
      .toSorted((one, other) => nodeOf(one.conditions) - nodeOf(other.conditions)),
  );
  const written = inOrder.map(({ benchmark: { name }, ...rest }) => ({ name, ...rest }));
  writeFileSync(`${fileOf(out)}.md`, markdown(inOrder));
  writeFileSync(`${fileOf(out)}.json`, `${JSON.stringify(written, null, 1)}\n`);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
// Said here, because the package of PostgreSQL ends a process that has nothing left to do with 0.
process.exit(stopped ? 130 : process.exitCode);
