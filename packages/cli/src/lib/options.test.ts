import { expect, it } from "vitest";
import { host, loopback } from "./options.ts";

it.each([
  ["[::1]", "::1"],
  ["::1", "::1"],
  ["0.0.0.0", "0.0.0.0"],
])("host() takes %s as %s", (given, address) => {
  expect(host(given)).toBe(address);
});

it.each(["", "[]"])("host() refuses %j, which would be every address", (given) => {
  expect(() => host(given)).toThrow("must name an address");
});

it("loopback() takes an address in brackets, and none that others reach", () => {
  expect(loopback("[::1]")).toBe("::1");
  expect(() => loopback("0.0.0.0")).toThrow("no login");
});
