import { type Level, type Unit, watches } from "./watch.ts";

const begin = "<!-- The table is generated from scripts/monitoring/watch.ts: pnpm monitoring -->";

/** The page with its table as `watches` says. */
export function withTable(page: string): string {
  const [before, rest] = page.split(`${begin}\n\n`);
  if (before === undefined || rest === undefined) throw new Error(`The page lacks: ${begin}`);
  const after = rest.replace(/^(\|.*\n)*/, "");
  return `${before}${begin}\n\n${table()}${after}`;
}

function table(): string {
  const rows = [
    ["Watch", "Where", "Warning", "Critical", "What to do"],
    ...watches.map(({ question, where, warning, critical, unit, todo }) => [
      ...[question, where, words(warning, unit), words(critical, unit), todo],
    ]),
  ];
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, at) => cell.padEnd(widths?.[at] ?? 0)));
  lines.splice(1, 0, widths?.map((width) => "-".repeat(width)) ?? []);
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** A level in words. */
function words(level: Level | undefined, unit: Unit): string {
  if (level === undefined) return "";
  const lasting = level.forMin === 0 ? "" : ` for ${minutes(level.forMin)}`;
  const only = level.only === undefined ? "" : ` ${level.only.says}`;
  if ("rise" in level) {
    const span = level.within === "1d" ? "24 h" : minutes(Number.parseInt(level.within, 10));
    return `up by ${level.rise} or more in ${span}${lasting}${only}`;
  }
  if (unit === "yes") return `${"above" in level ? "yes" : "no"}${lasting}${only}`;
  const [side, value] = "above" in level ? ["over", level.above] : ["under", level.below];
  return `${side} ${unit === "seconds" ? span(value) : number.format(value)}${lasting}${only}`;
}

const number = new Intl.NumberFormat("en-US");

function span(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3_600 ? minutes(seconds / 60) : `${seconds / 3_600} h`;
}

function minutes(count: number): string {
  return `${count} min`;
}
