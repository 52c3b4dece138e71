// Writes docs/evidence.md from what tests did: `EVIDENCE=/tmp/evidence pnpm test:all`, then `EVIDENCE=/tmp/evidence pnpm evidence`.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import { fileURLToPath } from "node:url";
import type { Evidence, Numbers } from "@reporthook/test-support/evidence";

/** The rows of the page by the kind of their evidence, each with the command that makes a long run of it. */
export const rows: Readonly<Record<string, readonly [what: string, command: string]>> = {
  tests: ["tests", "test:all"],
  world: ["simulated worlds: crashes, hangs, full disks, clocks that jump", "test:world"],
  faults: ["faults planted in the product, of which a world has to notice each", "test:world"],
  crash: ["an app on SQLite, killed at work", "test:crash"],
  cluster: ["processes on Redis and PostgreSQL, killed at work", "test:crash"],
  once: ["an app in its own transaction with `once`, killed at each step", "test:crash"],
  deployments: ["an app deployed under load", "DEPLOYMENT_RESTARTS=20 vitest run test/deployments"],
  inputs: ["random inputs of property tests", "test:all"],
  mutation: ["changes to the sources of core, of which a test has to notice each", "test:mutation"],
  runtimes: ["suites on each runtime", "test:runtimes"],
  consumers: ["apps that install the packed packages", "check"],
};

/** The cell of a row that has no evidence. */
export const notRun = "not run";

/** The page. */
export function pageOf(lines: readonly Evidence[], machine: string): string {
  const table = Object.entries(rows).map(([kind, [what, command]]) => {
    const own = lines.filter((line) => line.kind === kind);
    const cells = own.length === 0 ? [notRun, "", "", ""] : cellsOf(own);
    return [what, ...cells, `\`${command}\``];
  });
  const head = ["What", "How much", "Of that wrong", "Node", "When", "Long run"];
  const names = Object.keys(rows).flatMap((kind) => namesOf(kind, lines));
  return [
    "# Evidence",
    "",
    "Tests write this page: `pnpm evidence` makes it of what they did. A number is the sum over all runs that it was made of. A row",
    `that says _${notRun}_ had none; the command in its last column makes a long one. The machine: ${machine}.`,
    "",
    ...aligned([head, ...table]),
    ...(names.length > 0 ? ["", ...names] : []),
    "",
  ].join("\n");
}

function cellsOf(own: readonly Evidence[]): string[] {
  const nodes = [...new Set(own.map(({ node }) => node))].sort();
  const days = [...new Set(own.map(({ at }) => at.slice(0, 10)))].sort();
  const when = days.length > 1 ? `${days[0]} to ${days.at(-1)}` : (days[0] ?? "");
  return [
    shown(summed(own.map(({ did }) => did))),
    shown(summed(own.map(({ wrong }) => wrong))),
    nodes.join(", "),
    when,
  ];
}

function namesOf(kind: string, lines: readonly Evidence[]): string[] {
  const names = lines.flatMap((line) => (line.kind === kind ? (line.name ?? []) : []));
  return names.length === 0 ? [] : [`- ${kind}: ${[...new Set(names)].sort().join(", ")}`];
}

function summed(all: readonly Numbers[]): Numbers {
  const sums: Record<string, number> = {};
  for (const numbers of all) {
    for (const [of, count] of Object.entries(numbers)) sums[of] = (sums[of] ?? 0) + count;
  }
  return sums;
}

function shown(numbers: Numbers): string {
  return Object.entries(numbers)
    .map(([of, count]) => `${count.toLocaleString("en")} ${of}`)
    .join(", ");
}

function aligned(table: readonly (readonly string[])[]): string[] {
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [head = [], ...others] = table;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...others.map(line)];
}

/** The machine that this runs on. */
function thisMachine(): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  const [cpu] = cpus();
  return `${availableParallelism()} cores (${cpu?.model.trim()}), ${memory} GiB, ${type()} ${release().split(".", 2).join(".")}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = process.env["EVIDENCE"] ?? "";
  if (!existsSync(file)) {
    throw new Error(`EVIDENCE names no file: "${file}". Run tests with EVIDENCE=FILE, then this`);
  }
  const lines = readFileSync(file, "utf8").trim().split("\n");
  const page = pageOf(
    lines.map((line) => JSON.parse(line) as Evidence),
    thisMachine(),
  );
  writeFileSync(new URL("../docs/evidence.md", import.meta.url), page);
}
