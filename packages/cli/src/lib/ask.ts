import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { CommandFailed, UsageError } from "./errors.ts";
import { capital } from "./layout.ts";
import type { Terminal } from "./terminal.ts";

/** Whether a question can be answered on a terminal. */
export function canAsk({ json }: Terminal): boolean {
  return !json && process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/**
 * Asks whether to act on that many, with a warning after the question.
 *
 * @throws UsageError without a terminal to ask on; CommandFailed `not_confirmed` after a no, `interrupted` after Ctrl-C
 */
export async function confirm(
  terminal: Terminal,
  { act, done, many, note = "" }: Record<"act" | "done" | "many", string> & { note?: string },
): Promise<void> {
  if (!canAsk(terminal)) {
    throw new UsageError(`${many} would be ${done}: add --yes, or confirm on a terminal`);
  }
  if (await ask(terminal.clean(`${capital(act)} ${many}? ${note}`.trimEnd()))) return;
  throw new CommandFailed("not_confirmed", `Nothing is ${done}`);
}

/**
 * Asks a question on stderr; only `y` and `yes` mean yes.
 *
 * @throws CommandFailed `interrupted` on Ctrl-C, which is no answer
 */
export async function ask(question: string): Promise<boolean> {
  const input = createInterface({ input: process.stdin, output: process.stderr });
  const closed = once(input, "close").then(() => "");
  const interrupted = once(input, "SIGINT").then(() => {
    throw new CommandFailed("interrupted", "Interrupted: nothing is done");
  });
  const asked = input.question(`${question} [y/N] `).catch(() => "");
  try {
    const answer = await Promise.race([asked, closed, interrupted]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    input.close();
  }
}
