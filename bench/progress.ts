import type { Progress } from "./benchmark.ts";
import { numberText } from "./statistics.ts";

/** The progress that a process tells each second while it stores or works. */
export interface HowFar {
  /** So many deliveries are done. */
  readonly done: number;
  /** Of so many. */
  readonly count: number;
}

/** As it is shown. */
export function howFar({ done, count }: HowFar): string {
  return `: ${numberText(done, 0)} of ${numberText(count, 0)}`;
}

const lookEveryMs = 1_000;
const tellEveryS = 10;

/** On a terminal one line that says each second what is being done; elsewhere a line every 10 seconds. */
export function createProgress(): Progress & { end(): void } {
  const screen = process.stderr;
  const clear = screen.isTTY ? "\r\x1b[K" : "";
  let what = "";
  let detail = "";
  let seconds = 0;
  const timer = setInterval(() => {
    seconds++;
    if (what === "") return;
    const line = `  ${what}${detail}, ${seconds} s`;
    if (screen.isTTY) screen.write(`${clear}${line.slice(0, (screen.columns || 80) - 1)}`);
    else if (seconds % tellEveryS === 0) screen.write(`${line}\n`);
  }, lookEveryMs);
  const begin = (next: string): void => {
    [what, detail, seconds] = [next, "", 0];
  };
  return {
    doing: begin,
    detail(text) {
      detail = text;
    },
    progress(line) {
      screen.write(`${clear}  ${line}\n`);
      begin("");
    },
    end() {
      clearInterval(timer);
      screen.write(clear);
    },
  };
}
