import { inspect } from "node:util";
import { onTestFinished, vi } from "vitest";

/** Everything that came out, as somebody could read it. */
export class Output {
  readonly #parts: string[] = [];

  /** From now until the end of the test it takes what is written to the console and the process' streams. */
  static capture(): Output {
    const output = new Output();
    const take = (...given: unknown[]): void => output.add(...given);
    for (const level of ["log", "info", "warn", "error", "debug"] as const) {
      vi.spyOn(console, level).mockImplementation(take);
    }
    process.on("warning", take);
    onTestFinished(() => {
      process.off("warning", take);
      vi.restoreAllMocks();
    });
    return output;
  }

  /** Adds values in three forms: inspected with all that is hidden, as JSON, and as text. */
  add(...values: readonly unknown[]): void {
    for (const value of values) {
      this.#parts.push(
        inspect(value, {
          depth: 20,
          showHidden: true,
          maxStringLength: null,
          maxArrayLength: null,
        }),
        json(value),
        value instanceof Error ? `${value.message} ${value.stack}` : String(value),
      );
      if (value instanceof Error && value.cause !== undefined) this.add(value.cause);
    }
  }

  /** Takes what a promise comes to. */
  async settled(promise: PromiseLike<unknown>): Promise<unknown> {
    const value = await Promise.resolve(promise).catch((error: unknown) => error);
    this.add(value);
    return value;
  }

  get text(): string {
    return this.#parts.join("\n");
  }
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}
