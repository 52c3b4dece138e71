import { describe, expect, it, vi } from "vitest";
import { Recognizer } from "./recognizer.ts";

let last = 0;
const sourceOf = (text: string) => ({
  id: String(++last),
  body: new TextEncoder().encode(text),
  headers: {},
});
const complete = '{"status":"complete","report_id":"r-1"}';

function make() {
  const parse = vi.fn(() => null);
  return { parse, recognizer: new Recognizer(parse) };
}

describe("parsed bodies", () => {
  it("a Recognizer recognizes a body once for the verdict and the handlers", () => {
    const { parse, recognizer } = make();
    const source = sourceOf(complete);
    const read = recognizer.recognize(source);
    expect(read?.recognition).toMatchObject({ type: "report.complete", reportId: "r-1" });
    expect(recognizer.take(source)).toBe(read);
    expect(parse).toHaveBeenCalledTimes(1);
  });

  it("a Recognizer gives each attempt an object of its own", () => {
    const { recognizer } = make();
    const source = sourceOf(complete);
    recognizer.recognize(source);
    const first = recognizer.take(source);
    const second = recognizer.take(source);
    expect(second).toEqual(first);
    expect(second?.object).not.toBe(first?.object);
  });

  it("a Recognizer does not share an object between equal bodies", () => {
    const { recognizer } = make();
    const first = recognizer.recognize(sourceOf(complete));
    expect(recognizer.take(sourceOf(complete))?.object).not.toBe(first?.object);
  });

  it("a Recognizer gives null for a body that is no JSON object", () => {
    for (const text of ["", "[]", "{"])
      expect(make().recognizer.recognize(sourceOf(text))).toBeNull();
  });

  it.each([
    ["the latest 32", complete, 32],
    ["none over 16 KiB", complete.padEnd(16_385), 0],
  ])("a Recognizer keeps %s", (_name, text, kept) => {
    const { parse, recognizer } = make();
    const sources = Array.from({ length: 40 }, () => sourceOf(text));
    for (const source of sources) recognizer.recognize(source);
    parse.mockClear();
    for (const source of sources.reverse()) recognizer.take(source);
    expect(parse).toHaveBeenCalledTimes(40 - kept);
  });

  it("a Recognizer throws what parse throws, and keeps nothing", () => {
    const parse = vi.fn(() => {
      throw new RangeError("no");
    });
    const recognizer = new Recognizer(parse);
    const source = sourceOf(complete);
    expect(() => recognizer.recognize(source)).toThrow(RangeError);
    expect(() => recognizer.take(source)).toThrow(RangeError);
  });
});
