import { afterEach, describe, expect, it, vi } from "vitest";
import { manualClock } from "../testing/manual-clock.ts";
import { consoleLogger, loggerOf, oncePerMinute, oncePerMinuteEach } from "./log.ts";

afterEach(() => void vi.restoreAllMocks());

describe("consoleLogger", () => {
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

describe("loggerOf()", () => {
  it("swallows what an async logger rejects with", async () => {
    const warn = vi.fn(async () => {
      throw new Error("full disk");
    });
    loggerOf("reports", { warn }).warn({}, "careful");
    // An unhandled rejection would fail the run.
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(warn).toHaveBeenCalledOnce();
  });

  it("passes lines on, and swallows what the logger throws", () => {
    const warn = vi.fn();
    const error = () => {
      throw new Error("full disk");
    };
    const logger = loggerOf("reports", { warn, error });
    logger.warn({ id: 1 }, "careful");
    expect(warn).toHaveBeenCalledWith({ receiver: "reports", id: 1 }, "careful");
    expect(() => logger.error({}, "broken")).not.toThrow();
  });

  it("has info() where the logger does", () => {
    const info = vi.fn();
    const others = { warn: vi.fn(), error: vi.fn() };
    loggerOf("reports", { ...others, info }).info?.({ id: 1 }, "done");
    expect(info).toHaveBeenCalledWith({ receiver: "reports", id: 1 }, "done");
    // Whoever asks for it is spared what a line costs.
    expect(loggerOf("reports", others)).not.toHaveProperty("info");
  });

  it("drops all of none", () => {
    const logger = loggerOf("reports", {});
    logger.warn({}, "careful");
    logger.error({}, "broken");
    expect(logger).not.toHaveProperty("info");
  });

  it("keeps the logger's this", () => {
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

describe("oncePerMinute", () => {
  it("oncePerMinute() writes at once, then a line a minute with the count of those left out", () => {
    const clock = manualClock();
    const write = vi.fn();
    const line = oncePerMinute(clock, write);
    line({ id: 1 }, "one");
    line({ id: 2 }, "two");
    clock.advance(59_999);
    line({ id: 3 }, "three");
    expect(write.mock.calls).toEqual([[{ id: 1, count: 1 }, "one"]]);
    clock.advance(1);
    line({ id: 4 }, "four");
    expect(write).toHaveBeenLastCalledWith({ id: 4, count: 3 }, "four");
    expect(clock.pending).toBe(0);
  });
});

describe("oncePerMinuteEach", () => {
  it("oncePerMinuteEach() does so for each error, and forgets them all after eight others", () => {
    const clock = manualClock();
    const write = vi.fn();
    const line = oncePerMinuteEach(clock, write, "error");
    const written = () => write.mock.calls.splice(0).map(([{ error, count }]) => [error, count]);
    for (const error of ["a", "b", "a", "b"]) line({ error }, "failed");
    expect(written()).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
    for (let error = 3; error <= 8; error++) line({ error }, "failed");
    line({ error: "a" }, "failed");
    expect(written()).toHaveLength(6);
    for (const error of [9, "a"]) line({ error }, "failed");
    expect(written()).toEqual([
      [9, 1],
      ["a", 1],
    ]);
  });
});
