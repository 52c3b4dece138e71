import { describe, expect, it } from "vitest";
import { problemsUrl } from "../health/problem.ts";
import { deletedIn, firing, over, type Told } from "./alert.ts";

const minute = 60_000;
const since = 1_000 * minute;
const now = since + 5 * minute;
const wallOffset = 7 * minute;
const problem = { code: "parked", severity: "warning", reason: "expired", count: 3 } as const;
const told: Told = { ...problem, since, deleted: 5 };

const lookout = { wallOffset };
const watched = { name: "mine", clock: { now: () => now }, lookout } as unknown as Parameters<
  typeof over
>[0];

describe("the beginning", () => {
  const begun = {
    ...problem,
    since: new Date(5),
    text: "3 are parked. Release them",
    command: null,
    url: problemsUrl,
  };

  it("firing() has the first sentence as its title, and all of it as its text", () => {
    expect(firing("mine", begun, (text) => text.toUpperCase())).toEqual({
      ...begun,
      state: "firing",
      receiver: "mine",
      title: "mine: 3 ARE PARKED",
      text: "mine: 3 ARE PARKED. RELEASE THEM",
    });
  });

  it("firing() says with which command to look", () => {
    const { text } = firing("mine", { ...begun, command: "npx look" }, (same) => same);
    expect(text).toBe("mine: 3 are parked. Release them Look: npx look");
  });
});

describe("the end", () => {
  it.each<[Told["code"], string]>([
    ["inbox_fails", "the inbox stores again"],
    ["key_refused", "the service accepts the API key"],
    ["no_verdicts", "the service gives verdicts, or nothing waits for one"],
    ["all_rejected", "a signature was valid"],
    ["lost", "nothing was turned away in the last hour"],
    ["no_signature", "a signed notification was valid, or no unsigned one is left"],
    ["handlers_failing", "no delivery waits for another attempt: each was handled, or is parked"],
    ["behind", "nothing is behind"],
    ["parked", "no delivery is parked as expired any more"],
    ["parked_expiring", "no parked delivery is about to be deleted"],
    ["overdue", "no report is overdue"],
    ["process_stalled", "process expired goes on, has ended, or is gone for an hour"],
  ])("over() says of %s what is over, and after how long", (code, what) => {
    const title = `mine: resolved after 5 min: ${what}`;
    const alert = over(watched, { ...told, code }, told.deleted);
    expect(alert).toEqual({
      ...problem,
      code,
      state: "resolved",
      receiver: "mine",
      title,
      text: `${title}.`,
      command: null,
      url: problemsUrl,
      since: new Date(since + wallOffset),
      count: 0,
    });
  });

  it("over() has no number of what has none", () => {
    const refused: Told = { ...told, code: "key_refused", count: null, deleted: 0 };
    expect(over(watched, refused, 0).count).toBe(null);
  });

  const deleted = (count: number, of = "deliveries were"): string =>
    `deleted after 5 min: ${count} parked ${of} deleted at the end of the retention, to make room, or by a person`;
  const resolved = "resolved after 5 min: no delivery is parked as expired any more";

  it.each([
    ["none since", 5, resolved, 0],
    ["fewer than before, of an inbox that counts in vain", 4, resolved, 0],
    ["one since", 6, deleted(1, "delivery was"), 1],
    ["more than it was about at first", 9, deleted(4), 4],
  ])("over() tells how many were deleted: %s", (_, ever, title, count) => {
    const alert = over(watched, told, ever);
    expect([alert.title, alert.count]).toEqual([`mine: ${title}`, count]);
  });

  it("over() of parked_expiring tells no more than it was about", () => {
    const alert = over(watched, { ...told, code: "parked_expiring", reason: null }, 12);
    expect([alert.title, alert.count]).toEqual([`mine: ${deleted(3)}`, 3]);
  });

  it("over() tells the end also of what was told without how many were deleted", () => {
    const { deleted: _, ...of } = told;
    expect(over(watched, of as Told, 5).title).toBe(`mine: ${resolved}`);
  });

  it("deletedIn() has those of the reason, of parked_expiring all that were announced, and none of another problem", () => {
    const given = { expired: 1, do_not_retry: 2, unsigned: 9 };
    expect(deletedIn(problem, given)).toBe(1);
    expect(deletedIn({ ...problem, reason: "poison" }, given)).toBe(0);
    expect(deletedIn({ code: "parked_expiring", reason: null }, given)).toBe(3);
    expect(deletedIn({ code: "key_refused", reason: null }, given)).toBe(0);
    expect(deletedIn(problem)).toBe(0);
  });
});
