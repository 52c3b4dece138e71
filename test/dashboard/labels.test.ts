import { keyRefused } from "@reporthook/core/internals";
import { errorOf } from "@reporthook/dashboard/internals";
import { describe, expect, it } from "vitest";

const message = "2 attempts failed";
const failed = (id: string, lastError: string | null) => ({
  id,
  lastError,
  reason: { code: "attempts_used_up", message } as const,
});

describe("of one delivery", () => {
  it("errorOf() is the first line of the last error", () => {
    const thrown = "Error: ENOSPC\n    at write (a.js:1:2)\n  caused by Error: disk";
    expect(errorOf(failed("a", thrown))).toBe("Error: ENOSPC");
  });

  it("errorOf() says of a refused API key that it was so when the service was last asked", () => {
    const error = `${keyRefused}: ServiceError: POST /authorize answered 401`;
    expect(errorOf(failed("a", error))).toBe(
      "When last asked, the service refused the API key: ServiceError: POST /authorize answered 401",
    );
  });

  it("errorOf() is the reason's message where no attempt failed", () => {
    expect(errorOf(failed("a", null))).toBe(message);
    expect(errorOf({ lastError: null, reason: null })).toBeNull();
  });
});
