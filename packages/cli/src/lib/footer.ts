import { styleText } from "node:util";
import { printable } from "@reporthook/core/store";
import { truncate } from "./layout.ts";

/** A line of a terminal that stays below all others. */
export class Footer {
  readonly #redact: (text: string) => string;
  readonly #isPainted: boolean;
  #line: (() => string) | null = null;
  readonly #redraw = (): void => {
    this.clear();
    this.draw();
  };

  constructor(redact: (text: string) => string, isPainted: boolean) {
    this.#redact = redact;
    this.#isPainted = isPainted;
  }

  set(line: (() => string) | null): void {
    this.clear();
    process.stdout.off("resize", this.#redraw);
    this.#line = line;
    if (line !== null) process.stdout.on("resize", this.#redraw);
    this.draw();
  }

  clear(): void {
    if (this.#line !== null) process.stdout.write("\r\u001b[K");
  }

  draw(): void {
    if (this.#line === null) return;
    // One less than the width: a full line would begin the next one.
    const text = truncate(printable(this.#redact(this.#line())), process.stdout.columns - 1);
    process.stdout.write(this.#isPainted ? styleText("inverse", text) : text);
  }
}
