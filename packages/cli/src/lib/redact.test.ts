import { expect, it } from "vitest";
import { createTextRedactor } from "./redact.ts";

it.each([undefined, "", "0", "key", "test", "1234567", "test-api-key"])(
  "createTextRedactor() leaves %j in a text, which would be full of holes",
  (key) => {
    const text = `{"type":"test_webhook_endpoint","key":"${key}"}`;
    expect(createTextRedactor(key)(text)).toBe(text);
  },
);

it("createTextRedactor() takes out a key of 8 characters", () => {
  expect(createTextRedactor("1234567%")("?k=1234567% 1234567%25")).toBe("?k=[api key] [api key]");
});
