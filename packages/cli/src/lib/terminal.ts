import { styleText } from "node:util";
import { printable } from "@reporthook/core/store";
import ora from "ora";
import { createRedactor } from "./redact.ts";

/** How text may be painted. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/**
 * Where a command writes: for a person, or as JSON. The API key in the environment, callback tokens and the passwords of URLs
 * are taken out of everything.
 */
export interface Terminal {
  readonly json: boolean;
  /** Characters to a line: the terminal's, where there is one. */
  readonly columns: number;
  /** A line of the result, for a person; nothing with `--json`. */
  print(text?: string): void;
  /** The result with `--json`, on one line; nothing without. */
  emit(value: unknown): void;
  /** A line beside the result: progress, warnings. Nothing with `--json`. */
  tell(text: string): void;
  /**
   * Text from outside as it may be shown: without secrets and without what would steer a terminal. Before it is laid
   * out, for a secret that was cut in two is found no more.
   */
  clean(text: string): string;
  /** Painted where colours are wanted: on a terminal, without NO_COLOR. Meant for `print`, unless `beside` the result. */
  paint(style: Style, text: string, beside?: boolean): string;
  /** Shows that work is under way: a spinner on a terminal, else a line once it has taken a second. */
  during<T>(text: string, work: () => Promise<T>): Promise<T>;
}

const longMs = 1_000;
const leastColumns = 40;

/** The terminal of this process. */
export function createTerminal(
  json: boolean,
  env: Readonly<Record<string, string | undefined>>,
): Terminal {
  const { stdout, stderr } = process;
  const redact = createRedactor(env["REPORTS_API_KEY"]);
  const colours = (stream: NodeJS.WriteStream): boolean => stream.isTTY && stream.hasColors();
  const write = (stream: NodeJS.WriteStream, text: string): void => {
    stream.write(`${redact(text)}\n`);
  };
  const terminal: Terminal = {
    json,
    columns: stdout.isTTY && stdout.columns > 0 ? Math.max(leastColumns, stdout.columns) : 80,
    print: (text = "") => json || write(stdout, text),
    emit(value) {
      if (!json) return;
      const text = JSON.stringify(value, (_, of) => redacted(of, redact));
      stdout.write(`${printable(text)}\n`);
    },
    tell: (text) => json || write(stderr, text),
    clean: (text) => printable(redact(text), "\n\t"),
    paint: (style, text, beside = false) =>
      colours(beside ? stderr : stdout) ? styleText(style, text) : text,
    async during(text, work) {
      if (json) return work();
      const shown = redact(text);
      // A terminal of no width, as some that nobody looks at are, would have ora clear lines for ever.
      const spinner =
        stderr.isTTY && stderr.columns > 0
          ? ora({ text: shown, stream: stderr, color: colours(stderr) ? "cyan" : false }).start()
          : null;
      const slow = spinner ?? setTimeout(() => terminal.tell(`${text} …`), longMs);
      try {
        return await work();
      } finally {
        if (spinner === null) clearTimeout(slow as NodeJS.Timeout);
        else spinner.stop();
      }
    },
  };
  return terminal;
}

/** Of a value that JSON is made of, with its names. */
function redacted(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [redact(name), of]));
}
