import { styleText } from "node:util";
import { createTextRedactor, printable } from "@reporthook/core/store";
import { publicKey } from "./environment.ts";
import { type Style, truncate } from "./layout.ts";

/**
 * The output of a command, as text or as JSON. It redacts the API key of the environment, callback tokens and passwords in
 * URLs.
 */
export interface Terminal {
  readonly json: boolean;
  /** Characters in a line: the terminal's width. Without a terminal there is no limit: nothing is cut or wrapped. */
  readonly columns: number;
  /** Prints text or lines; nothing with `--json`. */
  print(text: string | readonly string[]): void;
  /** Prints a result: its text or lines, or with `--json` its value as one line of JSON. */
  emit(value: unknown, text: string | readonly string[]): void;
  /** Prints a URL with its callback token, for which somebody has asked. */
  reveal(result: { readonly url: string }): void;
  /** Prints progress or a warning to stderr; nothing with `--json`. */
  tell(text: string | readonly string[]): void;
  /**
   * Removes secrets and control characters from outside text. Call it before layout, because a wrapped secret is not
   * found.
   */
  clean(text: string): string;
  /** Colours text on a terminal without NO_COLOR. For `print`, or for `tell` with `beside`. */
  paint(style: Style, text: string, beside?: boolean): string;
  /** Whether single keys can be read, because a person types and reads. */
  readonly hasKeys: boolean;
  /** Keeps a line below all others, computed after each one; null removes it. Only where there are keys. */
  footer(line: (() => string) | null): void;
  /** Shows progress: a spinner on a terminal, else a line after a second. The work may `say` how far it is. */
  during<T>(text: string, work: (say: (text: string) => void) => Promise<T>): Promise<T>;
}

const longMs = 1_000;
const minColumns = 40;

/** Creates the terminal of this process. */
export function createTerminal(
  json: boolean,
  env: Readonly<Record<string, string | undefined>>,
): Terminal {
  const { stdout, stderr } = process;
  const apiKey = env["REPORTS_API_KEY"];
  const redact = createTextRedactor(apiKey === publicKey ? "" : apiKey);
  const colours = (stream: NodeJS.WriteStream): boolean => stream.isTTY && stream.hasColors();
  const footer = createFooter(redact, colours(stdout));
  const write = (stream: NodeJS.WriteStream, text: string | readonly string[]): void => {
    footer.clear();
    for (const part of [text].flat()) stream.write(`${redact(part)}\n`);
    footer.draw();
  };
  return {
    json,
    hasKeys:
      !json &&
      [process.stdin, stdout, stderr].every(({ isTTY }) => isTTY) &&
      stdout.columns > 0 &&
      env["TERM"] !== "dumb",
    footer: footer.set,
    // Piped, nothing is cut or wrapped.
    columns: Math.max(minColumns, (stdout.isTTY && stdout.columns) || Infinity),
    print: (text) => json || write(stdout, text),
    emit(value, text) {
      if (!json) return write(stdout, text);
      const line = JSON.stringify(value, (_, of) => redacted(of, redact));
      stdout.write(`${printable(line)}\n`);
    },
    reveal: (result) => void stdout.write(`${json ? JSON.stringify(result) : result.url}\n`),
    tell: (text) => json || write(stderr, text),
    clean: (text) => printable(redact(text), "\n\t"),
    paint: (style, text, beside = false) =>
      colours(beside ? stderr : stdout) ? styleText(style, text) : text,
    async during(text, work) {
      if (json) return work(() => {});
      // On a terminal with width 0 ora would clear lines endlessly.
      const hasSpinner = stderr.isTTY && stderr.columns > 0;
      const color = colours(stderr) ? "cyan" : false;
      // Loaded where it is seen: with all that it imports it takes a third of a command's start.
      const spinner = hasSpinner
        ? (await import("ora")).default({ text: redact(text), stream: stderr, color }).start()
        : null;
      let latest: string | null = text;
      const tellLatest = (): void => {
        if (latest !== null) write(stderr, `${latest} …`);
        latest = null;
      };
      const slow = spinner === null ? setInterval(tellLatest, longMs) : undefined;
      try {
        return await work((said) => {
          latest = said;
          if (spinner !== null) spinner.text = redact(said);
        });
      } finally {
        clearInterval(slow);
        spinner?.stop();
      }
    },
  };
}

/** Redacts a JSON value, including its keys. */
function redacted(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [redact(name), of]));
}

/** A line of a terminal that stays below all others. */
function createFooter(redact: (text: string) => string, isPainted: boolean) {
  const { stdout } = process;
  let line: (() => string) | null = null;
  const clear = (): void => {
    if (line !== null) stdout.write("\r\u001b[K");
  };
  const draw = (): void => {
    if (line === null) return;
    // One less than the width: a full line would begin the next one.
    const text = truncate(printable(redact(line())), stdout.columns - 1);
    stdout.write(isPainted ? styleText("inverse", text) : text);
  };
  const redraw = (): void => {
    clear();
    draw();
  };
  const set = (next: (() => string) | null): void => {
    clear();
    stdout.off("resize", redraw);
    line = next;
    if (next !== null) stdout.on("resize", redraw);
    draw();
  };
  return { clear, draw, set };
}
