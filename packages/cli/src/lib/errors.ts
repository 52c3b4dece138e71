import { ReporthookError, ServiceError } from "@reporthook/core";
import { CommanderError } from "commander";

/** The exit code and error of a command that did not succeed. */
export interface ExitStatus {
  /** 1 failed, 2 usage; 0 if only help or the version was requested. */
  readonly exitCode: number;
  readonly code: string;
  /** The problem and the way out; empty if it was printed already. */
  readonly message: string;
  /** The service's answer, if there was one. */
  readonly answer?: { readonly status: number; readonly body?: unknown };
  /** Partial results, shown beside the error with `--json`. */
  readonly done?: Readonly<Record<string, unknown>>;
}

/** The command failed. */
export class CommandFailed extends Error implements ExitStatus {
  readonly exitCode: number = 1;
  readonly code: string;
  readonly done: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, done: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.done = done;
  }
}

/** Wrong usage. The message is one sentence with the way out. */
export class UsageError extends CommandFailed {
  override readonly exitCode: number = 2;

  constructor(message: string) {
    super("usage", message);
  }
}

/** Converts a thrown value to an exit code and a message, never with a stack trace. */
export function exitStatusOf(thrown: unknown): ExitStatus {
  if (thrown instanceof CommanderError) return usage(thrown);
  if (thrown instanceof CommandFailed) return thrown;
  if (thrown instanceof ServiceError) {
    const { code, serviceStatus: status, body } = thrown;
    const answer = status === undefined ? {} : { answer: { status, body } };
    return { exitCode: 1, code, message: withVariables(thrown.message), ...answer };
  }
  if (thrown instanceof ReporthookError) {
    const { code, message } = thrown;
    return { exitCode: code === "invalid_report_request" ? 2 : 1, code, message };
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { exitCode: 1, code: "unexpected", message };
}

/** Replaces option names in a message of the client by names of environment variables, where there are any. */
export function withVariables(message: string): string {
  return message
    .replaceAll(/\bbaseUrl\b/g, "REPORTS_URL")
    .replaceAll(/\bapiKey\b/g, "REPORTS_API_KEY")
    .replaceAll(" (timeoutMs)", "");
}

function usage({ exitCode, code, message }: CommanderError): ExitStatus {
  if (exitCode === 0) return { exitCode, code, message: "" };
  if (code === "commander.help") return new UsageError("Name a command; --help lists them");
  const [text, hint] = message.replace(/^error: /, "").split("\n");
  const sentence = `${text?.replace(/\.$/, "")}${hint === undefined ? "" : ` ${hint}`}`;
  return new UsageError(`${sentence}; --help lists the options`);
}
