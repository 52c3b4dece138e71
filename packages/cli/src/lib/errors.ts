import { ReporthookError, ServiceError } from "@reporthook/core";
import { CommanderError } from "commander";

/** The command line is wrong: exit code 2. The message is one sentence with the way out. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

/** What was asked for did not come about: exit code 1. */
export class Failure extends Error {
  override readonly name: string = "Failure";
  readonly code: string;
  /** What came about all the same, shown beside the error with `--json`. */
  readonly done: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, done: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.done = done;
  }
}

/** How a command ends that did not succeed. */
export interface Ending {
  /** 1 failed, 2 usage; 0 when only help or the version was asked for. */
  readonly exitCode: number;
  readonly code: string;
  /** For a person: what is wrong and the way out; empty when it was told already. */
  readonly message: string;
  /** The service's answer, when there was one. */
  readonly answer?: { readonly status: number; readonly body?: unknown };
  /** What came about all the same. */
  readonly done?: Readonly<Record<string, unknown>>;
}

/** What to tell of whatever was thrown; never a stack trace. */
export function endingOf(thrown: unknown): Ending {
  if (thrown instanceof CommanderError) return usage(thrown);
  if (thrown instanceof UsageError) return { exitCode: 2, code: "usage", message: thrown.message };
  if (thrown instanceof Failure) {
    const { code, message, done } = thrown;
    return { exitCode: 1, code, message, done };
  }
  if (thrown instanceof ServiceError) {
    const { code, status, body } = thrown;
    const answer = status === undefined ? {} : { answer: { status, body } };
    return { exitCode: 1, code, message: withVariables(thrown.message), ...answer };
  }
  if (thrown instanceof ReporthookError) {
    const exitCode = thrown.code === "invalid_report_request" ? 2 : 1;
    return { exitCode, code: thrown.code, message: thrown.message };
  }
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return { exitCode: 1, code: "unexpected", message: text };
}

/** A message of the client, with the names of the variables in place of its options. */
export function withVariables(message: string): string {
  return message
    .replaceAll(/\bbaseUrl\b/g, "REPORTS_URL")
    .replaceAll(/\bapiKey\b/g, "REPORTS_API_KEY");
}

function usage({ exitCode, code, message }: CommanderError): Ending {
  if (exitCode === 0) return { exitCode, code, message: "" };
  if (code === "commander.help") {
    return { exitCode: 2, code: "usage", message: "Name one of the commands that --help shows" };
  }
  const [text, hint] = message.replace(/^error: /, "").split("\n");
  const sentence = `${text?.replace(/\.$/, "")}${hint === undefined ? "" : ` ${hint}`}`;
  return { exitCode: 2, code: "usage", message: `${sentence}; --help shows what there is` };
}
