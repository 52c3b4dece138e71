import { expect, it } from "vitest";
import { onlyId } from "./find.ts";

it("onlyId() gives the only one, and names the first five of several", () => {
  expect(onlyId([], "0")).toBeUndefined();
  expect(onlyId(["01"], "0")).toBe("01");
  expect(() => onlyId(["01", "02"], "0")).toThrow("Several ids begin with 0: 01, 02; type more");
  const many = ["01", "02", "03", "04", "05", "06"];
  expect(() => onlyId(many, "0")).toThrow("begin with 0: 01, 02, 03, 04, 05 and others; type more");
});
