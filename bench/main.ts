import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Benchmark, Effort, Group } from "./benchmark.ts";
import { acts } from "./benchmarks/acts.ts";
import { growth } from "./benchmarks/growth.ts";
import { acknowledge, latency, sustained } from "./benchmarks/http.ts";
import { withoutHttp, workers } from "./benchmarks/inbox.ts";
import { peers } from "./benchmarks/peers.ts";
import { queues } from "./benchmarks/queues.ts";
import { reports } from "./benchmarks/reports.ts";
import { telemetry } from "./benchmarks/telemetry.ts";
import { stopChildren } from "./child.ts";
import { type Builds, type FoundGroup, measureGroup } from "./measure.ts";
import { createProgress } from "./progress.ts";
import {
  type Conditions,
  conditionsOf,
  type Finding,
  markdown,
  nodeOf,
  sideBySide,
  tables,
} from "./report.ts";

const benchmarks: readonly Benchmark[] = [
  sustained,
  withoutHttp,
  acknowledge,
  latency,
  queues,
  workers,
  peers,
  telemetry,
  reports,
  acts,
  growth,
];

const efforts: Record<"full" | "quick", Effort> = {
  full: { rounds: 5, warmUpMs: 2_000, measureMs: 4_000, scale: 1 },
  quick: { rounds: 2, warmUpMs: 1_000, measureMs: 1_500, scale: 0.1 },
};

const namesOf = ({ name, groups }: Benchmark): string[] =>
  groups.map((one) => `${name}/${one.name}`);

const help = `pnpm bench [rows | NAME | NAME/GROUP]... [--rounds N] [--quick] [--against DIR] [--out NAME]

Builds the packages and measures them. Without a name everything, which writes bench/report.md and bench/report.json, anew
after each benchmark. Ctrl-C ends it with what was measured until then, a second one at once.

  rows           only what the report's first table shows
  NAME           only this benchmark, or only one group of it; nothing is written unless --out is given
  --rounds N     so many rounds instead of ${efforts.full.rounds}; peers, reports, acts and growth take no more than 3
  --quick        few and short rounds, to see that everything runs
  --against DIR  also measures the packages of another checkout, in turns with these, and shows both side by side
  --profile DIR  has each process leave a CPU profile there
  --out NAME     write bench/NAME.md and bench/NAME.json, or elsewhere if it is an absolute path; what other benchmarks
                 have written there stays, and what was written on another major version of Node
  --help         this text

Ends with 0, with 1 when something failed, and with 130 when it was ended.
REPORTHOOK_BENCH_DATA names a folder on the disk to measure (else the system's folder for temporary files).

${benchmarks
  .map(
    (one) =>
      `  ${one.name.padEnd(14)} ${one.title}\n${namesOf(one)
        .map((name) => `    ${name}`)
        .join("\n")}`,
  )
  .join("\n")}`;

/** Above it not even ratios hold. */
const maxLoad = 0.5;
let stopped = false;

/** Measures the groups, one after the other: one that fails takes no other with it. */
async function measure(
  benchmark: Benchmark,
  groups: readonly Group[],
  conditions: Conditions,
  builds: Builds | undefined,
): Promise<Finding> {
  console.error(benchmark.title);
  const found: FoundGroup[] = [];
  const progress = createProgress();
  for (const group of groups) {
    if (stopped) break;
    found.push(await measureGroup(group, { ...conditions.effort, ...progress }, builds));
  }
  progress.end();
  for (const { missing } of found) if (missing) console.error(`  not measured: ${missing}`);
  return { benchmark, conditions, groups: found };
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

/** Builds the packages of another checkout, as `pnpm bench` has built those of this one. */
function buildsWith(given: string): Builds {
  const other = resolve(process.env["INIT_CWD"] ?? "", given);
  const pnpm = process.env["npm_execpath"];
  if (pnpm === undefined) throw new Error("--against builds the other checkout: run it with pnpm");
  const { status } = spawnSync(process.execPath, [pnpm, "--recursive", "build"], {
    cwd: other,
    stdio: "inherit",
  });
  if (status !== 0) throw new Error(`The packages of ${other} can't be built: see above`);
  return { here: resolve(import.meta.dirname, "../.."), other };
}

/** The benchmarks and groups with these names, in the report's order. */
function chosen(names: readonly string[]): Map<Benchmark, readonly Group[]> {
  const known = ["rows", ...benchmarks.flatMap((one) => [one.name, ...namesOf(one)])];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`No benchmark is called ${unknown}\n\n${help}`);
  const all = benchmarks.map((one) => {
    const isChosen = (group: Group): boolean =>
      names.length === 0 || names.includes(one.name) || names.includes(`${one.name}/${group.name}`);
    const groups = one.groups.flatMap((group) => {
      if (isChosen(group)) return [group];
      return names.includes("rows") ? withRowsOnly(group) : [];
    });
    return [one, groups] as const;
  });
  return new Map(all.filter(([, groups]) => groups.length > 0));
}

/** The subjects of a group that are rows, and what they are compared with. */
function withRowsOnly(group: Group): Group[] {
  const rows = group.subjects.filter(({ row }) => row !== undefined);
  if (rows.length === 0) return [];
  const bases = rows.map(({ base }) => base ?? group.subjects[0]?.label);
  const subjects = group.subjects.filter((one) => rows.includes(one) || bases.includes(one.label));
  return [{ ...group, subjects }];
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      against: { type: "string" },
      profile: { type: "string" },
      out: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(help);
    return;
  }
  const asked = chosen(positionals);
  const usual = values.quick ? efforts.quick : efforts.full;
  const rounds = Number(values.rounds ?? usual.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds takes a number from 1 on");
  const isAll = positionals.length === 0 && !values.quick && values.against === undefined;
  const out = values.out ?? (isAll ? "report" : undefined);
  const isPart = positionals.some((name) => name === "rows" || name.includes("/"));
  if (out !== undefined && (values.against !== undefined || isPart)) {
    throw new Error("--out takes whole benchmarks of one build");
  }
  if (values.profile !== undefined) process.env["BENCH_PROFILES"] = resolve(values.profile);
  const builds = values.against === undefined ? undefined : buildsWith(values.against);
  const conditions = conditionsOf({ ...usual, rounds });
  if (conditions.load > maxLoad) {
    console.error(
      `The load average is ${conditions.load.toFixed(1)}: only what is side by side in a round holds`,
    );
  }
  const findings: Finding[] = [];
  const isMeasuredAgain = (one: Finding): boolean =>
    asked.has(one.benchmark) && nodeOf(one.conditions) === nodeOf(conditions);
  const kept = out === undefined ? [] : read(out).filter((one) => !isMeasuredAgain(one));
  endAt("SIGINT");
  endAt("SIGTERM");
  for (const [benchmark, groups] of asked) {
    if (stopped) break;
    const effort = {
      ...conditions.effort,
      rounds: Math.min(rounds, benchmark.maxRounds ?? rounds),
    };
    findings.push(await measure(benchmark, groups, { ...conditions, effort }, builds));
    if (out !== undefined) write(out, [...findings, ...kept]);
  }
  console.log(builds === undefined ? tables(findings) : sideBySide(findings, builds));
}

const fileOf = (out: string): string => resolve(import.meta.dirname, "..", out);

/** A benchmark's finding as the file keeps it. */
type Written = Omit<Finding, "benchmark"> & { readonly name: string };

/**
 * The findings that the file holds, of benchmarks that still exist.
 * @throws Error when nothing could be written there, for that is known before minutes are measured
 */
function read(out: string): Finding[] {
  const folder = dirname(fileOf(out));
  if (!existsSync(folder))
    throw new Error(`--out takes a name, or a path in a folder that exists; there is no ${folder}`);
  const file = `${fileOf(out)}.json`;
  if (!existsSync(file)) return [];
  const written = JSON.parse(readFileSync(file, "utf8")) as Written[];
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
  // A line for each group: a difference between two versions shows the groups that were measured again.
  const written = inOrder.map(({ benchmark: { name }, conditions, groups }) => {
    const lines = groups.map((group) => JSON.stringify(group, toFiveDigits)).join(",\n");
    return `{"name":"${name}","conditions":${JSON.stringify(conditions)},"groups":[\n${lines}]}`;
  });
  writeFileSync(`${fileOf(out)}.md`, markdown(inOrder));
  writeFileSync(`${fileOf(out)}.json`, `[${written.join(",\n")}]\n`);
}

function toFiveDigits(_key: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(5)) : value;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
// Said here, because the package of PostgreSQL ends a process that has nothing left to do with 0.
process.exit(stopped ? 130 : process.exitCode);
