import { runInNewContext } from "node:vm";
import { revoked } from "@reporthook/test-support/revoked";
import { expect, describe as group, it } from "vitest";
import { describe, joinedIn } from "./describe.ts";

const throwing = {
  get message(): string {
    throw new Error("unreadable");
  },
};

group("lines of errors", () => {
  it.each<[string, unknown, string]>([
    ["an error", new RangeError("too far"), "RangeError: too far"],
    ["an error of another realm", runInNewContext("new TypeError('odd')"), "TypeError: odd"],
    ["an error without a message", new Error(""), "Error"],
    ["an object with a message alone", { message: "alone" }, "alone"],
    ["a text", "as it is", "as it is"],
    ["an empty text", "", "Thrown value of type string"],
    ["a number", 7, "Thrown value of type number"],
    ["null", null, "Thrown value of type object"],
    ["undefined", undefined, "Thrown value of type undefined"],
    [
      "a function with a name",
      Object.assign(() => {}, { message: "m" }),
      "Thrown value of type function",
    ],
    ["an empty object", {}, "Thrown value of type object"],
    [
      "an object",
      { status: 1, reason: 2 },
      "Thrown value of type object with the keys status, reason",
    ],
    ["a getter that throws", throwing, "Thrown value of type object with the keys message"],
    ["a name that is no text", { name: 5, message: "m" }, "m"],
    ["a revoked proxy", revoked(), "Thrown value of type object"],
    [
      "an error that joins one",
      new AggregateError([revoked()], "a"),
      "AggregateError: a: Thrown value of type object",
    ],
    [
      "an error whose message can't be read",
      Object.defineProperty(
        new Error("x"),
        "message",
        Object.getOwnPropertyDescriptor(throwing, "message") ?? {},
      ),
      "Error",
    ],
    [
      "an error whose message is no text",
      Object.assign(new Error("x"), { message: Object.create(null), name: 7 }),
      "Thrown value of type object with the keys name",
    ],
  ])("describe() has the line of %s", (_, thrown, line) => {
    expect(describe(thrown)).toBe(line);
  });

  it("describe() names ten keys at most", () => {
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`k${at}`, at]));
    expect(describe(many)).toBe(
      "Thrown value of type object with the keys k0, k1, k2, k3, k4, k5, k6, k7, k8, k9",
    );
  });

  it("describe() cuts at 500 characters, after secrets are taken out", () => {
    expect(describe("x".repeat(500))).toBe("x".repeat(500));
    expect(describe("x".repeat(501))).toBe(`${"x".repeat(499)}…`);
    const redact = (text: string) => text.replaceAll("canary", "[key]");
    expect(describe(`${"x".repeat(497)}canary`, redact)).toBe(`${"x".repeat(497)}[k…`);
  });

  it("describe() ends at errors that join themselves, or whose list is none", () => {
    const cyclic = new AggregateError([], "around");
    cyclic.errors.push(cyclic, ...Array.from({ length: 1_000 }, () => cyclic));
    const around = "AggregateError: around";
    expect(describe(cyclic)).toBe(`${around}: ${Array(5).fill(around).join("; ")}`);
    for (const errors of [null, "none", { length: 3 }]) {
      const odd = Object.assign(new AggregateError([], "odd"), { errors });
      expect(describe(odd)).toBe("AggregateError: odd");
    }
  });

  it("describe() lists the first five errors that an error joins", () => {
    const joined = Array.from({ length: 6 }, (_, at) => new Error(`e${at}`));
    expect(describe(new AggregateError(joined, "All failed"))).toBe(
      "AggregateError: All failed: Error: e0; Error: e1; Error: e2; Error: e3; Error: e4",
    );
    expect(describe(new AggregateError([], "None"))).toBe("AggregateError: None");
    expect(describe(Object.assign(new Error("other"), { errors: joined }))).toBe("Error: other");
  });
});

group("joined errors", () => {
  it("joinedIn() is empty where nothing is joined, or it can't be read", () => {
    for (const none of [null, 5, {}, { errors: "text" }, throwing])
      expect(joinedIn(none)).toEqual([]);
    const unreadable = new Proxy([1], {
      get() {
        throw new Error("no");
      },
    });
    expect(joinedIn({ errors: unreadable })).toEqual([]);
  });
});
