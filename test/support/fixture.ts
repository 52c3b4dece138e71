import type { Inbox } from "@reporthook/core";
import { createInboxFixture, type InboxFixture } from "@reporthook/testing/internals";
import { onTestFinished } from "vitest";

/** The fixture of an inbox, which ends with the test. */
export function fixtureOf(inbox: Inbox): InboxFixture {
  const fixture = createInboxFixture(inbox, 60_000);
  onTestFinished(() => fixture.end());
  return fixture;
}
