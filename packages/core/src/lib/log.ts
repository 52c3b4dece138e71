import { isPromise } from "./is-promise.ts";
import type { ReceiverClock } from "./lived-clock.ts";
import type { Bind } from "./platform.ts";
import { printableFields } from "./printable.ts";

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

/**
 * The logger of a receiver, which adds its name to each line. It never throws: a broken logger only loses log lines. Without
 * `error`, errors are warnings; it has `info` if the given one does, and `{}` drops all.
 */
export function loggerOf(
  receiver: string,
  logger: Partial<Logger>,
  bind: Bind = (run) => run,
): Logger {
  const guarded = (level: keyof Logger): Logger["warn"] =>
    bind((given, message) => {
      const fields = printableFields({ receiver, ...given });
      try {
        const written: unknown =
          logger[level] === undefined
            ? logger.warn?.(fields, message)
            : logger[level](fields, message);
        if (isPromise(written)) written.then(undefined, () => {});
      } catch {
        // A log line that can't be written has nowhere else to go.
      }
    });
  const safe = { warn: guarded("warn"), error: guarded("error") };
  return typeof logger.info === "function" ? { ...safe, info: guarded("info") } : safe;
}

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
    if (now - last < 60_000) return;
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
