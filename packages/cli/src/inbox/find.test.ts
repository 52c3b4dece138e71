import { expect, it } from "vitest";
import { onlyOne } from "./find.ts";

const found = (...ids: readonly string[]) => ids.map((id) => ({ id }));

it("onlyOne() gives the only one, and names the first five of several", () => {
  expect(onlyOne([], "0")).toBeUndefined();
  expect(onlyOne(found("01"), "0")).toEqual({ id: "01" });
  expect(() => onlyOne(found("01", "02"), "0")).toThrow("begin with 0: 01, 02; type more");
  const many = found("01", "02", "03", "04", "05", "06");
  expect(() => onlyOne(many, "0")).toThrow("01, 02, 03, 04, 05 and others; type more");
});
