import { runInNewContext } from "node:vm";
import { revoked } from "@reporthook/test-support/revoked";
import { expect, describe as group, it, vi } from "vitest";
import {
  DoNotRetry,
  InvalidReportRequestError,
  ReporthookError,
  RetryAfter,
  ServiceError,
} from "./errors.ts";

group("error classes", () => {
  it("an error is instanceof its class of another copy of the package, and so is an error of a subclass", async () => {
    vi.resetModules();
    const copy = await import("./errors.ts");
    expect(copy.ReporthookError).not.toBe(ReporthookError);
    const service = new copy.ServiceError("service_failed", "500", { retryable: true });
    expect(service).toBeInstanceOf(ServiceError);
    expect(service).toBeInstanceOf(ReporthookError);
    expect(service).not.toBeInstanceOf(InvalidReportRequestError);
    expect(new copy.InvalidReportRequestError([])).toBeInstanceOf(InvalidReportRequestError);
    expect(new copy.DoNotRetry("x")).toBeInstanceOf(DoNotRetry);
    expect(new copy.RetryAfter(1)).toBeInstanceOf(RetryAfter);
    class Own extends ReporthookError {}
    const own = new Own("closed", "own");
    expect([own instanceof Own, own instanceof ReporthookError]).toEqual([true, true]);
    expect(service instanceof Own).toBe(false);
    for (const other of [revoked(), null, "text", new Error("x")]) {
      expect(other instanceof ReporthookError).toBe(false);
    }
  });

  it("ReporthookError carries its code and cause", () => {
    const cause = new Error("disk");
    const error = new ReporthookError("inbox_failed", "Not stored", { cause });
    expect(error).toMatchObject({ name: "ReporthookError", code: "inbox_failed", cause });
    expect(error).toBeInstanceOf(Error);
  });
});

group("calls of the service", () => {
  it("ServiceError has only the details it was given", () => {
    const bare = new ServiceError("service_unreachable", "No answer", { retryable: true });
    expect(Object.keys(bare).sort()).toEqual(["code", "name", "retryable", "sent"]);
    expect("cause" in bare).toBe(false);
    const details = {
      retryable: false,
      serviceStatus: 500,
      sent: true,
      body: "no",
      retryAfterMs: 5,
      cause: "c",
    };
    const full = new ServiceError("service_failed", "500", details);
    expect(full).toMatchObject(details);
    // With a `status`, Express and Koa would answer an app's customer with that.
    expect(["status" in full, "statusCode" in full]).toEqual([false, false]);
  });
});

group("report requests", () => {
  it("InvalidReportRequestError lists every problem with its field", () => {
    const problems = [
      { field: "domains[2]", message: "must not be empty" },
      { field: "start", message: "must be YYYY-MM" },
    ];
    const error = new InvalidReportRequestError(problems);
    expect(error).toMatchObject({ code: "invalid_report_request", status: 400 });
    expect(error.problems).toEqual(problems);
    expect(error.message).toBe(
      "The request was not sent. domains[2]: must not be empty; start: must be YYYY-MM.",
    );
  });
});

group("giving up", () => {
  it("DoNotRetry.is() knows a DoNotRetry, also from another copy of the package", () => {
    const error = new DoNotRetry("deleted", { cause: "c" });
    expect(error).toMatchObject({ name: "DoNotRetry", message: "deleted", cause: "c" });
    expect(DoNotRetry.is(error)).toBe(true);
    const copy = Object.assign(new Error("other"), { [Symbol.for("reporthook.DoNotRetry")]: true });
    expect(DoNotRetry.is(copy)).toBe(true);
    for (const other of [new Error("x"), new RetryAfter(1), null, undefined, "text"]) {
      expect(DoNotRetry.is(other)).toBe(false);
    }
  });
});

group("trying later", () => {
  it("RetryAfter takes milliseconds or a date", () => {
    expect(new RetryAfter(60_000).message).toMatch(/in 60000 ms$/);
    const date = new Date(0);
    expect(new RetryAfter(date)).toMatchObject({ name: "RetryAfter", when: date });
    expect(new RetryAfter(date).message).toMatch(/at 1970-01-01T00:00:00.000Z$/);
  });

  it.each([
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [new Date(Number.NaN), "an object"],
    [undefined, "undefined"],
    [null, "null"],
    ["5s", '"5s"'],
    [Object.create(null), "an object"],
  ])("RetryAfter throws a TypeError for %j", (when, shown) =>
    expect(() => new RetryAfter(when as number)).toThrow(
      new TypeError(`RetryAfter takes milliseconds or a valid Date, not ${shown}`),
    ),
  );

  it("RetryAfter takes a date of another realm", () => {
    const date = runInNewContext("new Date(0)") as Date;
    expect(new RetryAfter(date).when).toBe(date);
  });

  it("RetryAfter.is() knows a RetryAfter, also from another copy of the package", () => {
    expect(RetryAfter.is(new RetryAfter(1))).toBe(true);
    expect(RetryAfter.is({ [Symbol.for("reporthook.RetryAfter")]: true })).toBe(true);
    for (const other of [new DoNotRetry("x"), null, 5]) expect(RetryAfter.is(other)).toBe(false);
  });
});
