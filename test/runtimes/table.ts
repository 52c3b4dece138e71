import { readFile, writeFile } from "node:fs/promises";
import { type Runtime, runtimes, type Suite } from "./runtimes.ts";

const page = new URL("../../docs/frameworks.md", import.meta.url);
const begin = "<!-- written by pnpm test:runtimes -->\n\n";
const end = "\n<!-- end -->";

// The suites that stand behind each column.
const columns: Readonly<Record<string, readonly Suite[]>> = {
  "core, Hono": ["receiver.fetch", "Hono", "memory inbox"],
  "its own server": ["own server"],
  "Express, Koa": ["Express", "Koa"],
  "SQLite inbox": ["SQLite inbox"],
  emulator: ["emulator"],
};

/** The table of docs/frameworks.md before and as it has to be, and writes that if it is told to. */
export async function writtenTable(
  held: readonly (readonly [Runtime, Suite])[],
  { write }: { readonly write: boolean },
): Promise<{ readonly before: string; readonly after: string }> {
  const text = await readFile(page, "utf8");
  const from = text.indexOf(begin) + begin.length;
  const to = text.indexOf(end, from);
  if (from < begin.length || to === -1)
    throw new Error("docs/frameworks.md has no place for the table");
  const after = aligned([
    ["Runtime", ...Object.keys(columns), "Acknowledged means"],
    ...runtimes.map((runtime) => [runtime.name, ...cellsOf(runtime, held), runtime.promise]),
  ]);
  if (write) await writeFile(page, text.slice(0, from) + after + text.slice(to));
  return { before: text.slice(from, to), after };
}

function cellsOf(runtime: Runtime, held: readonly (readonly [Runtime, Suite])[]): string[] {
  return Object.values(columns).map((suites) =>
    suites.every((suite) => held.some(([on, one]) => on === runtime && one === suite))
      ? "yes"
      : "–",
  );
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[], pad: string): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, pad)).join(" | ")} |\n`;
  const [head = [], ...others] = rows;
  const rule = line(
    head.map(() => ""),
    "-",
  );
  return line(head, " ") + rule + others.map((row) => line(row, " ")).join("");
}
