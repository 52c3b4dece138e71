import { styleText } from "node:util";
import ora from "ora";
import { createRedactor } from "./redact.ts";

/** How text may be painted. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Where a command writes: for a person, or as JSON. The API key in the environment and callback tokens are taken out of everything. */
export interface Terminal {
  readonly json: boolean;
  /** Characters to a line: 80, or more on a wider terminal. */
  readonly columns: number;
  /** A line of the result, for a person; nothing with `--json`. */
  print(text?: string): void;
  /** The result with `--json`, on one line; nothing without. */
  emit(value: unknown): void;
  /** A line beside the result: progress, warnings. Nothing with `--json`. */
  tell(text: string): void;
  /** Painted where colours are wanted: on a terminal, without NO_COLOR. Meant for `print`, unless `beside` the result. */
  paint(style: Style, text: string, beside?: boolean): string;
  /** Shows that work is under way: a spinner on a terminal, else a line once it has taken a second. */
  during<T>(text: string, work: () => Promise<T>): Promise<T>;
}

const longMs = 1_000;

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
    columns: Math.max(80, stdout.isTTY ? stdout.columns : 0),
    print: (text = "") => json || write(stdout, text),
    emit(value) {
      const clean = (_: string, of: unknown) => (typeof of === "string" ? redact(of) : of);
      if (json) stdout.write(`${JSON.stringify(value, clean)}\n`);
    },
    tell: (text) => json || write(stderr, text),
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

/** Text from outside, without what would steer a terminal. */
export function plain(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
}
