import { inspect } from "node:util";
import { growth } from "@reporthook/test-support/growth";
import { revoked } from "@reporthook/test-support/revoked";
import { expect, describe as group, it } from "vitest";
import { describe as describeError } from "./text/describe.ts";
import { accountOf, shownError } from "./thrown.ts";

const redact = (text: string): string => text.replaceAll("s3cret", "[api key]");

function thrown(): Error {
  const cause = Object.assign(new RangeError("below s3cret"), { code: "E_BELOW" });
  return new TypeError("above s3cret", { cause });
}

group("in a history", () => {
  it("accountOf() has the line, the first frames and the causes, without the key", () => {
    const lines = accountOf(thrown(), redact).split("\n");
    expect(lines[0]).toBe("TypeError: above [api key]");
    expect(lines[1]).toMatch(/^ {4}at thrown \(.*thrown\.test\.ts:\d+:\d+\)$/);
    expect(lines[4]).toBe("  caused by RangeError: below [api key]");
    expect(lines[5]).toMatch(/^ {4}at thrown /);
  });

  it("accountOf() is short for any thrown value", () => {
    const cyclic = new AggregateError([], "around", { cause: "x".repeat(5_000) });
    cyclic.errors.push(...Array.from({ length: 100 }, () => cyclic));
    expect(accountOf(cyclic, redact).length).toBe(1_000);
    expect(accountOf(revoked(), redact)).toBe("Thrown value of type object");
    expect(accountOf("s3cret", redact)).toBe("[api key]");
  });
});

group("in a log", () => {
  it("shownError() is an Error with stack, code and causes, and without the key", () => {
    const error = Object.assign(thrown(), { config: { key: "s3cret" }, code: "E_ABOVE" });
    const shown = shownError(error, redact) as Error & { cause: Error & { code: string } };
    expect(shown).toBeInstanceOf(Error);
    expect(shown).toMatchObject({ name: "TypeError", message: "above [api key]", code: "E_ABOVE" });
    expect(shown.stack).toBe(redact(String(error.stack)));
    expect(shown.cause).toMatchObject({ name: "RangeError", code: "E_BELOW" });
    expect(shown.cause.stack).toContain("thrown.test.ts");
    expect(Object.keys(shown)).toEqual(["code"]);
  });

  it("shownError() steers no terminal", () => {
    const { message, stack } = shownError(new Error("a\u001b[2Jb\u202e"), redact);
    expect(message).toBe("a\\u001b[2Jb\\u202e");
    for (const char of ["\u001b", "\u202e"]) expect(stack).not.toContain(char);
  });

  it("shownError() has the errors that an error joins, and takes anything", () => {
    const joined = new AggregateError([new Error("one"), revoked(), "s3cret"], "Several");
    expect(shownError(joined, redact)).toBeInstanceOf(AggregateError);
    const messages = (shownError(joined, redact) as AggregateError).errors.map(
      ({ message }: Error) => message,
    );
    expect(messages).toEqual(["one", "Thrown value of type object", "[api key]"]);
  });

  it("shownError() carries nothing else, for any thrown value", () => {
    const error = Object.assign(thrown(), { request: { url: "https://a/?k=s3cret" }, code: 7 });
    Object.defineProperty(error, "hidden", { value: "s3cret" });
    const shown = shownError(error, redact);
    expect(shown).not.toHaveProperty("request");
    expect(shown).not.toHaveProperty("code");
    expect(inspect(shown, { depth: 9, showHidden: true })).not.toContain("s3cret");
    const hostile = Object.defineProperty({}, "message", {
      get() {
        throw new Error("s3cret");
      },
    });
    expect(shownError(hostile, redact).message).toBe("Thrown value of type object");
    expect(shownError(undefined, redact).message).toBe("Thrown value of type undefined");
  });

  it("shownError() ends when the causes go in a circle", () => {
    const circle: Error & { cause?: unknown } = new Error("round");
    circle.cause = circle;
    let depth = 0;
    for (let at: unknown = shownError(circle, redact); at instanceof Error; at = at.cause) depth++;
    expect(depth).toBe(5);
  });
});

it("accountOf() and shownError() cost no more than a few lines when an error joins itself", () => {
  const error = new AggregateError([], "many");
  error.errors = Array.from({ length: 50 }, () => error);
  let redacted = 0;
  const redact = (text: string): string => {
    redacted++;
    return text;
  };
  describeError(error, redact);
  accountOf(error, redact);
  shownError(error, redact);
  expect(redacted).toBeLessThan(400);
});

it("accountOf() needs four times as long for four times as much, for messages like frames", () => {
  const times = growth((length) => {
    for (const unit of ["@", "@:1:1", "at ", ":1"]) {
      accountOf(new Error(`${unit.repeat(length / unit.length)} `), redact);
    }
  });
  expect(times(2_000)).toBeLessThan(10);
});
