import { expect, it } from "vitest";
import { Waiters } from "./waiters.ts";

it("Waiters.settle() tells each waiter one result: the failures first", () => {
  const waiters = new Waiters<string, string>();
  const told: string[] = [];
  for (const asked of ["one", "two", "three"]) {
    waiters.push({
      asked,
      resolve: (answer) => void told.push(answer),
      reject: (error) => void told.push(String(error)),
    });
  }
  waiters.settle([true, false], (isFine, asked) => {
    if (!isFine) throw new Error(`${asked} failed`);
    return `${asked} is done`;
  });
  expect(told).toEqual(["Error: two failed", "one is done"]);
  expect(waiters.length).toBe(1);
});
