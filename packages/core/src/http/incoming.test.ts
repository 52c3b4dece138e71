import { runInNewContext } from "node:vm";
import { revoked } from "@reporthook/test-support/revoked";
import { describe, expect, it } from "vitest";
import { headerOf, keptBytes } from "./incoming.ts";

describe("headers", () => {
  it.each([
    ["one value", "a", "a"],
    ["a value given twice", ["a", "a"], "a"],
    ["a value given three times, joined", "a, a, a", "a"],
    ["a value with a comma, given twice", ["a, b", "a, b"], "a, b"],
    ["a value with a comma", "a, b", "a, b"],
    ["different values", ["a", "b"], "a, b"],
    ["no value", undefined, null],
  ])("headerOf() has a single value for %s", (_, value, expected) => {
    expect(headerOf({ signature: value }, "signature")).toBe(expected);
  });

  it("headerOf() has a single value for equal values of web standard headers", () => {
    const headers = new Headers();
    for (let times = 0; times < 2; times++) headers.append("signature", "a,b");
    expect(headerOf(headers, "signature")).toBe("a,b");
  });
});

describe("bodies", () => {
  const text = (body: unknown) => {
    const read = keptBytes(body);
    return typeof read === "string" ? `failed: ${read}` : new TextDecoder().decode(read);
  };

  it.each([
    ["a plain object", "({ a: 1 })", '{"a":1}'],
    ["an array", "[1, 2]", "[1,2]"],
    ["bytes", "new Uint8Array([123, 125])", "{}"],
    ["an ArrayBuffer", "new Uint8Array([123, 125]).buffer", "{}"],
    ["a promise", "Promise.resolve()", "failed: unavailable"],
    ["a map", "new Map()", "failed: unavailable"],
  ])("keptBytes() takes %s of another realm for what it is", (_, source, expected) => {
    expect(text(runInNewContext(source))).toBe(expected);
  });

  it.each<[string, ArrayBufferLike]>([
    ["an ArrayBuffer", new ArrayBuffer(2)],
    ["a SharedArrayBuffer", new SharedArrayBuffer(2)],
  ])("a body over %s stays as it was when the app overwrites it after the answer", (_, buffer) => {
    const given = Buffer.from(buffer);
    given.write("{}");
    const read = keptBytes(buffer instanceof ArrayBuffer ? buffer : given);
    const view = keptBytes(given);
    given.fill(0);
    expect([read, view].map((each) => new TextDecoder().decode(each as Uint8Array))).toEqual([
      "{}",
      "{}",
    ]);
  });

  it("keptBytes() takes a value that can't be looked at for unavailable", () => {
    expect(text(revoked())).toBe("failed: unavailable");
  });
});
