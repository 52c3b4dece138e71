import { program } from "../lib/environment.ts";
import { quoted } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { InboxSource } from "./source.ts";

/** Formats commands of `inbox` for a source, each with a title. */
export function commandLines(
  titled: readonly (readonly [string, string])[],
  { db, inbox, prefix, receiver }: InboxSource,
  terminal: Terminal,
): string[] {
  // A URL may contain a password, so it is not printed.
  const where = [
    ...(receiver === undefined ? [] : ["--receiver", receiver]),
    ...(db === undefined ? [] : ["--db", quoted(db)]),
    ...(inbox === undefined ? [] : ["--inbox URL"]),
    ...(prefix === undefined ? [] : ["--prefix", quoted(prefix)]),
  ].join(" ");
  return titled.map(([title, line]) => {
    const command = `${program()} inbox ${line}`;
    const lead = `${title}:`.padEnd(13);
    const isLong = lead.length + command.length + 1 + where.length > terminal.columns;
    return terminal.clean(
      `${lead}${command}${where && (isLong ? ` \\\n    ${where}` : ` ${where}`)}`,
    );
  });
}
