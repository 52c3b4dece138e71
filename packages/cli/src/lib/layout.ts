import { stripVTControlCharacters } from "node:util";

/** A text style. */
export type Style = "bold" | "dim" | "inverse" | "red" | "green" | "yellow" | "cyan";

/** A column of a {@link table}. */
export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => string;
  readonly style?: (row: Row) => Style;
  /** Shrinks if the table is too wide, and keeps its beginning or its end. */
  readonly shrinks?: "beginning" | "end";
}

/** The target of the lines. */
interface Page {
  readonly columns: number;
  clean(text: string): string;
  paint(style: Style, text: string): string;
}

const gap = "  ";

/** Formats a table to the page's width; empty columns are omitted. Without a row it says so. */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  page: Page,
): string[] {
  if (rows.length === 0) return ["Nothing."];
  const filled = columns
    .map(({ title, of, style, shrinks }) => {
      const cells = rows.map((row) => page.clean(of(row)).replaceAll(/\s+/g, " "));
      const width = Math.max(...[title, ...cells].map((cell) => cell.length));
      return { cells: [title, ...cells], style, shrinks, width };
    })
    .filter(({ cells }) => cells.slice(1).some((cell) => cell !== ""));
  const total = (): number =>
    filled.reduce((sum, column) => sum + column.width + gap.length, -gap.length);
  while (total() > page.columns) {
    const [widest] = filled
      .filter(({ shrinks }) => shrinks !== undefined)
      .sort((one, other) => other.width - one.width);
    if (widest === undefined || widest.width <= 1) break;
    widest.width--;
  }
  return [null, ...rows].map((row, index) => {
    const line = filled
      .map(({ cells, width, style, shrinks }) => {
        const text = truncate(cells[index] ?? "", width, shrinks).padEnd(width);
        return row === null || style === undefined ? text : page.paint(style(row), text);
      })
      .join(gap)
      .trimEnd();
    return row === null ? page.paint("dim", line) : line;
  });
}

/** Formats names and values in two aligned columns, wrapped, without those that have no value. */
export function pairs(of: readonly (readonly [string, string | null])[], page: Page): string[] {
  const known = of.filter((pair): pair is readonly [string, string] => pair[1] !== null);
  const left = Math.max(...known.map(([name]) => name.length)) + gap.length;
  return known.flatMap(([name, text]) => hang(name.padEnd(left), text, page));
}

/** Wraps text after `lead`, which may be painted, with a hanging indent. */
export function hang(lead: string, text: string, page: Page): string[] {
  const leadWidth = stripVTControlCharacters(lead).length;
  const room = Math.max(20, page.columns - leadWidth);
  const lines: string[] = [];
  for (const word of page.clean(text).split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= room) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      for (let at = 0; at === 0 || at < word.length; at += room) {
        lines.push(word.slice(at, at + room));
      }
    }
  }
  return lines.map((line, index) =>
    (index === 0 ? lead + line : " ".repeat(leadWidth) + line).trimEnd(),
  );
}

/** Begins a text with a capital letter. */
export function capital(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}`;
}

/** Formats milliseconds, with one decimal below 10. */
export function milliseconds(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

/** The time of day in UTC, as all times that are shown: 14:05:09Z */
export function timeOfDay(): string {
  return `${new Date().toISOString().slice(11, 19)}Z`;
}

/** Truncates text to a width; its beginning is kept, or its end. */
export function truncate(text: string, width: number, kept?: "beginning" | "end"): string {
  if (text.length <= width) return text;
  const room = width - 1;
  return kept === "end" ? `…${text.slice(text.length - room)}` : `${text.slice(0, room)}…`;
}

/** A path or an address as a shell takes it: as one word. */
export function quoted(word: string): string {
  return /^[\w./:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
