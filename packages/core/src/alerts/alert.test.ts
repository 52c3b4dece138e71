import { describe, expect, it } from "vitest";
import { problemsUrl } from "../health/problem.ts";
import type { CountedAct } from "../inbox/acts/act-log.ts";
import { firing, over, type Told } from "./alert.ts";

const minute = 60_000;
const since = 1_000 * minute;
const now = since + 5 * minute;
const wallOffset = 7 * minute;
const told: Told = { code: "parked", severity: "warning", reason: "expired", count: 3, since };

type Deleted = Readonly<Record<string, readonly [at: number, count: number]>>;

/** All that {@link over} gets beside the problem: what retention and people deleted. */
type Ending = readonly [Parameters<typeof over>[0], readonly CountedAct[]];

function ending(deleted: readonly Deleted[] = [], acts: readonly CountedAct[] = []): Ending {
  const reports = deleted.map((each) => ({ deleted: each, at: now }));
  const watched = { name: "mine", clock: { now: () => now }, lookout: { reports, wallOffset } };
  return [watched as unknown as Ending[0], acts];
}

const endOf = (told: Told, [watched, acts]: Ending) => over(watched, told, acts);

function discard(counts: CountedAct["counts"], ms = 0): CountedAct {
  const what = { by: "ada", act: "discard", selection: { state: "parked" }, count: 0 } as const;
  return { ...what, at: new Date(since + wallOffset + ms), counts };
}

describe("the beginning", () => {
  const problem = {
    ...({ code: "parked", severity: "warning", reason: "expired", count: 3 } as const),
    since: new Date(5),
    text: "3 are parked. Release them",
    command: null,
    url: problemsUrl,
  };

  it("firing() has the first sentence as its title, and all of it as its text", () => {
    expect(firing("mine", problem, (text) => text.toUpperCase())).toEqual({
      ...problem,
      state: "firing",
      receiver: "mine",
      title: "mine: 3 ARE PARKED",
      text: "mine: 3 ARE PARKED. RELEASE THEM",
    });
  });

  it("firing() says with which command to look", () => {
    const { text } = firing("mine", { ...problem, command: "npx look" }, (same) => same);
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
    const alert = endOf({ ...told, code }, ending());
    expect(alert).toEqual({
      ...told,
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
    expect(endOf({ ...told, code: "key_refused", count: null }, ending()).count).toBe(null);
  });

  const deleted = (count: number, of = "deliveries were"): string =>
    `deleted after 5 min: ${count} parked ${of} deleted at the end of the retention, to make room, or by a person`;
  const resolved = "resolved after 5 min: no delivery is parked as expired any more";

  it.each<[string, Ending, string, number]>([
    ["one of this reason", ending([{ expired: [since, 1] }]), deleted(1, "delivery was"), 1],
    ["of two processes", ending([{ expired: [now, 1] }, { expired: [now, 2] }]), deleted(3), 3],
    ["of another reason", ending([{ unsigned: [now, 2] }]), resolved, 0],
    ["before it began", ending([{ expired: [since - 1, 2] }]), resolved, 0],
    ["by a person", ending([], [discard({ expired: 4, poison: 1 })]), deleted(4), 4],
    ["of another reason by a person", ending([], [discard({ unsigned: 4 })]), resolved, 0],
    ["by a person before", ending([], [discard({ expired: 4 }, -1)]), resolved, 0],
    [
      "one by one, and by retention",
      ending([{ expired: [now, 1] }], [discard({ expired: 1 }), discard({ expired: 1 })]),
      deleted(3),
      3,
    ],
    ["never: released", ending([], [{ ...discard({ expired: 1 }), act: "release" }]), resolved, 0],
  ])("over() tells what was deleted: %s", (_, given, title, count) => {
    const alert = endOf(told, given);
    expect([alert.title, alert.count]).toEqual([`mine: ${title}`, count]);
  });

  it("over() of parked_expiring tells those of all reasons, and no more than it was about", () => {
    const given = ending(
      [{ expired: [now, 1], do_not_retry: [now, 1], unsigned: [now, 9] }],
      [discard({ expired: 4 })],
    );
    const alert = endOf({ ...told, code: "parked_expiring", reason: null }, given);
    expect([alert.title, alert.count]).toEqual([`mine: ${deleted(3)}`, 3]);
  });

  it("over() of another problem says nothing of deletions", () => {
    const given = ending([{ expired: [now, 1] }], [discard({ expired: 4 })]);
    const { title } = endOf({ ...told, code: "key_refused" }, given);
    expect(title).toBe("mine: resolved after 5 min: the service accepts the API key");
  });
});
