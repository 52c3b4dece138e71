import type { Health } from "@reporthook/core";
import { expect } from "vitest";
import { type Line, post, type Served } from "./serve.ts";

/** Asserts that a notification is refused as it has to be, that the log says why, and that the receiver is not ready. */
export async function expectUnavailable(
  { url, receiver, lines }: Served,
  why: RegExp,
): Promise<void> {
  expect(await post(url)).toEqual({
    status: 503,
    said: "inbox_unavailable",
    id: "",
    retryAfter: "5",
  });
  expectLogged(lines, why);
  expectUnready(await receiver.health(), why);
}

/** Asserts that the log says why a notification was not stored. */
export function expectLogged(lines: readonly Line[], why: RegExp): void {
  const told = lines.filter(({ message }) => message.includes("Notification not stored"));
  expect(told.at(-1)?.level).toBe("error");
  expect(told.at(-1)?.fields["error"]).toMatch(why);
}

/** Asserts that a health report says what is wrong. */
export function expectUnready(health: Health, why: RegExp): void {
  expect(health.ready).toBe(false);
  expect(health.inbox.error).toMatch(why);
}
