import { isPromise } from "./is-promise.ts";
import type { Bind } from "./platform.ts";
import { tryGet } from "./safe-get.ts";
import { describe } from "./text/describe.ts";
import { printable, printableFields } from "./text/printable.ts";
import type { LivedClock } from "./time/lived-clock.ts";

/**
 * The destination of log lines: pino's order of arguments; `console` fits too. A logger that takes the message first, such as
 * winston, needs a wrapper: `{ warn: (fields, message) => winston.warn(message, fields), error: … }`.
 */
export interface Logger {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** Writes a line for each decision that needs no action; left out, none is written. */
  info?(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Warnings and errors on the console, looked up at each call. */
export const consoleLogger: Logger = {
  warn: (fields, message) => console.warn(`reporthook: ${message}`, withoutRepeatedStack(fields)),
  error: (fields, message) => console.error(`reporthook: ${message}`, withoutRepeatedStack(fields)),
};

/** The stack is shown at a delivery's first failure; later ones have the line. */
function withoutRepeatedStack({ err, ...fields }: LogFields): LogFields {
  return err === undefined || Number(fields["attempt"] ?? 1) > 1 ? fields : { ...fields, err };
}

type LogFields = Readonly<Record<string, unknown>>;

const lost =
  "Logger failed: lines of this level are lost. If it is a method that needs its this, bind it.";

/**
 * The logger of a receiver, which adds its name to each line; null: of none. It never throws: a logger that does, or rejects, is
 * named on the console, once a level, with the line that it did not take. Without `error`, errors are warnings; it has `info` if
 * the given one does, and `{}` drops all.
 */
export function loggerOf(
  receiver: string | null,
  logger: Partial<Logger> = consoleLogger,
  bind: Bind = (run) => run,
): Logger {
  const guarded = (level: keyof Logger): Logger["warn"] => {
    let isNamed = false;
    return bind((given, message) => {
      const fields = printableFields(receiver === null ? given : { receiver, ...given });
      const failed = (thrown: unknown): void => {
        if (isNamed) return;
        isNamed = true;
        const about = { level, loggerError: printable(describe(thrown)), ...fields };
        const write = consoleLogger[level === "error" ? level : "warn"];
        tryGet(() => write(about, `${lost} Not written: ${message}`));
      };
      try {
        const own = logger[level] === undefined ? "warn" : level;
        const written: unknown = logger[own]?.(fields, message);
        if (isPromise(written)) written.then(undefined, failed);
      } catch (thrown) {
        failed(thrown);
      }
    });
  };
  const safe = { warn: guarded("warn"), error: guarded("error") };
  return typeof logger.info === "function" ? { ...safe, info: guarded("info") } : safe;
}

/** A timer of a minute may come a moment before it, and write its line. */
const nearlyMinuteMs = 59_900;
const maxValues = 8;

/** Writes each message once a minute; `count` is the number of occurrences since its last line. */
export interface OncePerMinute {
  /** With `each`, separately for each value of it; with many values, the first ones are forgotten. */
  warn(fields: LogFields, message: string, each?: unknown): void;
  /** In the same way. */
  error(fields: LogFields, message: string, each?: unknown): void;
}

/** Throttles the lines of a logger. */
export function oncePerMinute(
  clock: Pick<LivedClock, "running">,
  logger: Pick<Logger, "warn" | "error">,
): OncePerMinute {
  const lines = new Map<string, Map<unknown, { last: number; count: number }>>();
  const throttled =
    (level: "warn" | "error"): OncePerMinute["warn"] =>
    (fields, message, each) => {
      const alike = lines.get(message) ?? new Map<unknown, { last: number; count: number }>();
      lines.set(message, alike);
      if (alike.size >= maxValues && !alike.has(each)) alike.clear();
      const line = alike.get(each) ?? { last: Number.NEGATIVE_INFINITY, count: 0 };
      alike.set(each, line);
      line.count++;
      const now = clock.running();
      if (now - line.last < nearlyMinuteMs) return;
      logger[level]({ ...fields, count: line.count }, message);
      line.last = now;
      line.count = 0;
    };
  return { warn: throttled("warn"), error: throttled("error") };
}
