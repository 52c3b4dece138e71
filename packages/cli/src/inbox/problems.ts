import type { Problem } from "@reporthook/core";
import { duration, hang } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import { commandLines } from "./command-lines.ts";
import type { InboxSource } from "./source.ts";

/** Formats what is wrong, worst first, each with the command that shows it. */
export function problemLines(
  problems: readonly (Problem & { readonly receiver: string })[],
  { receiver: _, ...source }: InboxSource,
  terminal: Terminal,
): string[] {
  const now = Date.now();
  return problems.flatMap(({ receiver, severity, code, since, text, command }) => {
    const style = severity === "critical" ? "red" : "yellow";
    const lead = `${severity}: `;
    const told = `${code}, for ${duration(now - since.getTime())}: ${receiver}: ${terminal.clean(text)}`;
    const lines = hang(lead, told, terminal).map((line) => terminal.paint(style, line));
    const [, inbox] = /^npx reporthook inbox (.*)$/.exec(command ?? "") ?? [];
    // A command of another kind is shown as it is.
    if (inbox === undefined) return command === null ? lines : [...lines, `Look: ${command}`];
    return [...lines, ...commandLines([["Look", inbox]], source, terminal)];
  });
}
