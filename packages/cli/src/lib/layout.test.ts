import { expect, it } from "vitest";
import { hang, pairs, table } from "./layout.ts";
import { createTerminal } from "./terminal.ts";

const key = "0123456789abcdef0123456789";
const terminal = createTerminal(false, { REPORTS_API_KEY: key });

it("hang(), pairs() and table() take secrets out before they cut and wrap", () => {
  const long = `${"x".repeat(70)}${key}`;
  const lines = [
    ...hang("  ", long, terminal),
    ...pairs([["name", long]], terminal),
    ...table([{ title: "A", of: () => long, shrinks: "beginning" }], [1], terminal),
  ];
  expect(lines.join("")).not.toMatch(/[0-9]/);
});

it("clean() takes no more than a password out of an address", () => {
  const clean = (text: string) => terminal.clean(text);
  expect(clean("redis://ada:p@ss@db:6379/0")).toBe("redis://ada:[removed]@db:6379/0");
  for (const text of ['{"a":"http://b:80","c":"d@e"}', "http://b:80?c=d@e", "http://b:80/c@d"]) {
    expect(clean(text)).toBe(text);
  }
});

it("clean() leaves the emulator's key, which is printed to be copied", () => {
  const { clean } = createTerminal(false, { REPORTS_API_KEY: "test-api-key" });
  expect(clean("REPORTS_API_KEY=test-api-key")).toBe("REPORTS_API_KEY=test-api-key");
});

it("hang() cuts a word of any length into lines, and indents them as far as the first", () => {
  const lines = hang("12345", "a".repeat(1_000_000), { ...terminal, columns: 25 });
  expect(lines).toHaveLength(50_000);
  expect(lines.slice(0, 2)).toEqual([`12345${"a".repeat(20)}`, `     ${"a".repeat(20)}`]);
});
