import { expect, it } from "vitest";
import { printable, printableFields } from "./printable.ts";

it.each([
  ["a\nb\tc\r", "a\\nb\\tc\\r"],
  ["\u001b[31m\u0000\u007f\u009b", "\\u001b[31m\\u0000\\u007f\\u009b"],
  ["\u202eabc\u2066\u061c\u200f", "\\u202eabc\\u2066\\u061c\\u200f"],
  ["\u0085\u2028\u2029", "\\u0085\\u2028\\u2029"],
  ["plain: é漢🔑 %c %s \\n", "plain: é漢🔑 %c %s \\n"],
])("printable() makes %j %j", (text, shown) => {
  expect(printable(text)).toBe(shown);
});

it("printable() leaves the value of JSON as it is, and the characters it is told to keep", () => {
  const value = { "\u009b31m": "\u202e\u2028\n" };
  expect(JSON.parse(printable(JSON.stringify(value)))).toEqual(value);
  expect(printable("a\n\tb\u009b", "\n\t")).toBe("a\n\tb\\u009b");
});

it("printableFields() escapes texts and lists of them, and leaves the rest", () => {
  const error = new Error("a\nb");
  const fields = { a: "x\ny", b: ["p\tq", 7, ["\u0000"]], c: null, d: 5, error };
  expect(printableFields(fields)).toEqual({
    a: "x\\ny",
    b: ["p\\tq", 7, ["\\u0000"]],
    c: null,
    d: 5,
    error,
  });
  expect(printableFields(fields)["error"]).toBe(error);
});
