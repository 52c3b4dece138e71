import { expect, it } from "vitest";
import { wholeId } from "./find.ts";

const among =
  (...ids: readonly string[]) =>
  async (_: string, limit: number) =>
    ids.slice(0, limit).map((id) => ({ id }));

it("wholeId() gives the only one, and names the first five of several", async () => {
  expect(await wholeId("0", among())).toBeNull();
  expect(await wholeId("0", among("01"))).toBe("01");
  await expect(wholeId("0", among("01", "02"))).rejects.toThrow("begin with 0: 01, 02; type more");
  const many = among("01", "02", "03", "04", "05", "06");
  await expect(wholeId("0", many)).rejects.toThrow("01, 02, 03, 04, 05 and others; type more");
});
