import { isPromise } from "./is-promise.ts";
import type { Bind } from "./platform.ts";
import { tryGet } from "./safe-get.ts";
import { describe } from "./text/describe.ts";
import { printable, printableFields } from "./text/printable.ts";
import type { ReceiverClock } from "./time/lived-clock.ts";

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
  warn: (fields, message) => console.warn(`reporthook: ${message}`, once(fields)),
  error: (fields, message) => console.error(`reporthook: ${message}`, once(fields)),
};

/** The stack is shown at a delivery's first failure; later ones have the line. */
function once({ err, ...fields }: LogFields): LogFields {
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
        const written: unknown =
          logger[level] === undefined
            ? logger.warn?.(fields, message)
            : logger[level](fields, message);
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
const minuteMs = 59_900;

/** Throttles a log line to one a minute; `count` is the number of occurrences since the last line. */
export function oncePerMinute(
  clock: Pick<ReceiverClock, "running">,
  write: Logger["warn"],
): Logger["warn"] {
  let last = Number.NEGATIVE_INFINITY;
  let count = 0;
  return (fields, message) => {
    count++;
    const now = clock.running();
    if (now - last < minuteMs) return;
    write({ ...fields, count }, message);
    last = now;
    count = 0;
  };
}

const maxValues = 8;

/** Throttles separately for each value of a field; with many values, the first ones are forgotten. */
export function oncePerMinuteEach(
  clock: Pick<ReceiverClock, "running">,
  write: Logger["warn"],
  field: "code" | "error" | "type",
): Logger["warn"] {
  const lines = new Map<unknown, Logger["warn"]>();
  return (fields, message) => {
    const value = fields[field];
    if (lines.size >= maxValues && !lines.has(value)) lines.clear();
    const line = lines.get(value) ?? oncePerMinute(clock, write);
    lines.set(value, line);
    line(fields, message);
  };
}
