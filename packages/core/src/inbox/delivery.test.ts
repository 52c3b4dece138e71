import { describe, expect, it } from "vitest";
import { isKeyRefused, keyRefused } from "./delivery.ts";

describe("a refused key", () => {
  it.each([
    [true, "received", `${keyRefused}: 401`],
    [false, "received", `Error: ${keyRefused}`],
    [false, "received", null],
    [false, "held", `${keyRefused}: 401`],
  ] as const)(
    "isKeyRefused() is %s for a delivery that is %s with the error %s",
    (is, state, lastError) => {
      expect(isKeyRefused({ state, lastError })).toBe(is);
    },
  );
});
