import { manualClock } from "@reporthook/testing/internals";
import { afterEach, describe, expect, it, vi } from "vitest";
import { consoleLogger, loggerOf, oncePerMinute } from "./log.ts";

afterEach(() => void vi.restoreAllMocks());

describe("console", () => {
  it("consoleLogger writes to the console as it is at that moment", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    consoleLogger.warn({ id: 1 }, "careful");
    consoleLogger.error({ id: 2 }, "broken");
    expect(warn).toHaveBeenCalledWith("reporthook: careful", { id: 1 });
    expect(error).toHaveBeenCalledWith("reporthook: broken", { id: 2 });
  });

  it("consoleLogger prints the stack at a delivery's first failure, and the line at later ones", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const err = new Error("no");
    for (const attempt of [1, 2]) consoleLogger.warn({ attempt, err }, "failed");
    consoleLogger.warn({ err }, "failed");
    expect(warn.mock.calls.map(([, fields]) => fields)).toEqual([
      { attempt: 1, err },
      { attempt: 2 },
      { err },
    ]);
  });
});

describe("loggers", () => {
  it("loggerOf() passes lines on", () => {
    const warn = vi.fn();
    loggerOf("reports", { warn }).warn({ id: 1 }, "careful");
    expect(warn).toHaveBeenCalledWith({ receiver: "reports", id: 1 }, "careful");
    loggerOf(null, { warn }).warn({ id: 1 }, "careful");
    expect(warn).toHaveBeenLastCalledWith({ id: 1 }, "careful");
  });

  it("loggerOf() writes errors as warnings when the logger has no error()", () => {
    const warn = vi.fn();
    loggerOf("reports", { warn }).error({ id: 1 }, "broken");
    expect(warn).toHaveBeenCalledWith({ receiver: "reports", id: 1 }, "broken");
  });

  const fail = () => {
    throw new Error("full\ndisk");
  };
  class Own {
    readonly lines: string[] = [];
    write(_fields: object, message: string): void {
      this.lines.push(message);
    }
  }
  it.each<[string, () => unknown, RegExp]>([
    ["throws", fail, /^Error: full\\ndisk$/],
    ["rejects", async () => fail(), /^Error: full\\ndisk$/],
    ["throws a text", () => Promise.reject("no"), /^no$/],
    ["has lost its this", new Own().write as () => unknown, /^TypeError: Cannot read/],
  ])(
    "loggerOf() names a logger that %s once a level on the console, with the line",
    async (_, write, error) => {
      const shown = vi.spyOn(console, "warn").mockImplementation(() => {});
      const errors = vi.spyOn(console, "error").mockImplementation(() => {});
      const logger = loggerOf("reports", { warn: write, error: write, info: write });
      for (const id of [1, 2]) {
        logger.warn({ id }, "careful");
        logger.error({ id }, "broken");
        logger.info?.({ id }, "done");
      }
      await new Promise((resolve) => setImmediate(resolve));
      const said = (level: string, message: string) => [
        expect.stringMatching(
          new RegExp(`^reporthook: Logger failed: .* Not written: ${message}$`),
        ),
        { level, loggerError: expect.stringMatching(error), receiver: "reports", id: 1 },
      ];
      expect(shown.mock.calls).toEqual([said("warn", "careful"), said("info", "done")]);
      expect(errors.mock.calls).toEqual([said("error", "broken")]);
    },
  );

  it("loggerOf() throws nothing where the console throws as well", () => {
    vi.spyOn(console, "warn").mockImplementation(fail);
    expect(() => loggerOf("reports", { warn: fail }).warn({}, "careful")).not.toThrow();
    expect(() => loggerOf("reports").warn({}, "careful")).not.toThrow();
  });

  it("loggerOf() has info() where the logger does", () => {
    const info = vi.fn();
    const others = { warn: vi.fn(), error: vi.fn() };
    loggerOf("reports", { ...others, info }).info?.({ id: 1 }, "done");
    expect(info).toHaveBeenCalledWith({ receiver: "reports", id: 1 }, "done");
    // Callers that ask for it first save the cost of a line.
    expect(loggerOf("reports", others)).not.toHaveProperty("info");
  });

  it("loggerOf() drops all lines when the logger has no methods", () => {
    const logger = loggerOf("reports", {});
    logger.warn({}, "careful");
    logger.error({}, "broken");
    expect(logger).not.toHaveProperty("info");
  });

  it("loggerOf() keeps the logger's this", () => {
    const lines: string[] = [];
    class Custom {
      readonly #lines = lines;
      warn(_fields: object, message: string): void {
        this.#lines.push(message);
      }
      error(_fields: object, message: string): void {
        this.#lines.push(message);
      }
    }
    loggerOf("reports", new Custom()).warn({}, "careful");
    expect(lines).toEqual(["careful"]);
  });
});

describe("repeated lines", () => {
  it("oncePerMinute() writes each message at once, then a line a minute with the count of lines left out", () => {
    const clock = manualClock();
    const logger = { warn: vi.fn(), error: vi.fn() };
    const { warn, error } = oncePerMinute(clock, logger);
    warn({ id: 1 }, "one");
    warn({ id: 2 }, "one");
    clock.advance(59_899);
    warn({ id: 3 }, "one");
    error({ id: 4 }, "other");
    expect(logger.warn.mock.calls).toEqual([[{ id: 1, count: 1 }, "one"]]);
    expect(logger.error.mock.calls).toEqual([[{ id: 4, count: 1 }, "other"]]);
    clock.advance(1);
    warn({ id: 5 }, "one");
    expect(logger.warn).toHaveBeenLastCalledWith({ id: 5, count: 3 }, "one");
    expect(clock.pending).toBe(0);
  });
});

describe("lines that differ", () => {
  it("oncePerMinute() writes a message for each error, and forgets them all after eight others", () => {
    const clock = manualClock();
    const write = vi.fn();
    const { warn } = oncePerMinute(clock, { warn: write, error: write });
    const line = ({ error }: { error: unknown }) => warn({ error }, "failed", error);
    const written = () => write.mock.calls.splice(0).map(([{ error, count }]) => [error, count]);
    for (const error of ["a", "b", "a", "b"]) line({ error });
    expect(written()).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
    for (let error = 3; error <= 8; error++) line({ error });
    line({ error: "a" });
    expect(written()).toHaveLength(6);
    for (const error of [9, "a"]) line({ error });
    expect(written()).toEqual([
      [9, 1],
      ["a", 1],
    ]);
  });
});
