import { type Guarantees, type Inbox, memoryInbox } from "@reporthook/core";
import { PruneCount } from "@reporthook/core/store";
import { describe, expect, it } from "vitest";
import { eventually, patiently, rejects, same, truly } from "../assert.ts";
import { manualClock } from "../manual-clock.ts";
import { type InboxContractOptions, inboxContract } from "./contract.ts";
import { createInboxFixture, handled, valid } from "./fixture.ts";

const { guarantees } = memoryInbox();
const own: Guarantees = {
  ...guarantees,
  clock: "own",
  order: "roughly",
  noticesReuse: false,
  finds: "parked",
};

/** A memory inbox with some members of one's own. */
function broken(members: Partial<Inbox>, inbox = memoryInbox()): Inbox {
  return new Proxy(inbox, {
    get(_target, name) {
      if (name in members) return members[name as keyof Inbox];
      const value: unknown = Reflect.get(inbox, name);
      return typeof value === "function" ? value.bind(inbox) : value;
    },
  });
}

async function failures(members: Partial<Inbox>, patienceMs = 50): Promise<string[]> {
  const cases = inboxContract({ open: () => broken(members), guarantees, patienceMs });
  const results = await Promise.allSettled(cases.map(({ run }) => run()));
  return results.flatMap((result) => (result.status === "rejected" ? [`${result.reason}`] : []));
}

describe("cases", () => {
  it("inboxContract() skips cases that a store can't hold, and says why in the name", async () => {
    const cases = inboxContract({ open: expect.unreachable, guarantees: own });
    const skipped = cases.filter((one) => one.skipped !== undefined);
    expect(new Set(skipped.map((one) => one.skipped))).toEqual(
      new Set([
        "how to start another process is not told",
        "the store keeps its own time",
        "the store keeps the order only roughly",
        "the store does not notice reused signatures",
        "the store finds events and reports only among what is parked or rejected",
        "how to damage a record is not told",
        "how to start another process is not told",
      ]),
    );
    for (const { name, run, skipped: why } of skipped) {
      expect(name).toContain(`(skipped: ${why})`);
      await run();
    }
    expect(skipped.length).toBeLessThan(cases.length / 2);
  });

  it.each([null, 7, { open: memoryInbox }, { open: memoryInbox, guarantees: null }])(
    "inboxContract() throws a TypeError that names the option when it is given %j",
    (given) => {
      const make = () => inboxContract(given as unknown as InboxContractOptions);
      expect(make).toThrow(/^inboxContract: (?:options|guarantees) must be an object/);
    },
  );

  it("inboxContract() takes guarantees with more members than it knows, as those of an inbox may have", () => {
    const { guarantees: all } = memoryInbox({ acceptLoss: true });
    expect(inboxContract({ open: memoryInbox, guarantees: all }).length).toBeGreaterThan(0);
  });

  it("inboxContract() gives every case a different name", () => {
    const names = inboxContract({ open: memoryInbox, guarantees }).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it("inboxContract() runs on a store with its own clock", async () => {
    const cases = inboxContract({ open: () => broken({ guarantees: own }), guarantees: own });
    await Promise.all(cases.map(({ run }) => run()));
  });

  it("inboxContract() rejects for a store that guarantees something else", async () => {
    const [first] = inboxContract({ open: memoryInbox, guarantees: own });
    await expect(first?.run()).rejects.toThrow(/What the store guarantees: expected/);
  });

  it("inboxContract() rejects for a store that answers wrongly, or never", async () => {
    const wrong = new PruneCount({ handledMs: 1, parkedMs: 1 });
    expect(await failures({ get: async () => null })).not.toEqual([]);
    expect(
      await failures({ list: () => new Promise(() => {}), prune: async () => wrong }),
    ).not.toEqual([]);
    // Nothing hangs: each comes to its end, in which it looks for what is left.
    expect(await failures({ close: async () => {} }, 10_000)).toEqual(
      expect.arrayContaining([expect.stringMatching(/Timers still set|Work still running/)]),
    );
  });
});

/** Members of an inbox that leave out a part of what they are asked. */
const forgetful: readonly [what: string, make: (inbox: Inbox) => Partial<Inbox>][] = [
  ["counts what all receivers have", (inbox) => ({ counts: () => inbox.counts() })],
  [
    "tells more acts than asked for",
    ({ acts }) => ({ acts: ({ receiver } = {}) => acts({ receiver, limit: 1_000 }) }),
  ],
  ["acts on all requests", (inbox) => ({ act: ({ requestId: _, ...query }) => inbox.act(query) })],
  ["erases nothing", () => ({ erase: async () => 0 })],
];

it.each(forgetful)("inboxContract() rejects for a store that %s", async (_, make) => {
  const open = () => {
    const inbox = memoryInbox();
    return broken(make(inbox), inbox);
  };
  const cases = inboxContract({ open, guarantees });
  const results = await Promise.allSettled(cases.map(({ run }) => run()));
  expect(results.map(({ status }) => status)).toContain("rejected");
});

describe("fixture", () => {
  it("createInboxFixture() has no time to advance for a store with its own clock", async () => {
    const { clock, put, work, end } = createInboxFixture(broken({ guarantees: own }), 60_000);
    expect(() => clock.advance(1)).toThrow(/keeps its own time/);
    await put();
    await work("verify", valid);
    await work("handle", handled);
    await end();
  });
});

describe("assertions", () => {
  it("same() takes equal values in any order of keys", () => {
    const bytes = Uint8Array.of(1, 2);
    same({ a: 1, b: [new Date(0)], bytes }, { bytes, b: [new Date(0)], a: 1 }, "It");
    same(undefined, undefined, "It");
    expect(() => same({ a: 1 }, { a: 2 }, "It")).toThrow('It: expected {"a":2}, got {"a":1}');
    expect(() => truly(false, "it is so")).toThrow("Not so: it is so");
  });

  it("rejects() wants the code", async () => {
    await rejects(Promise.reject({ code: "x" }), "x");
    await expect(rejects(Promise.resolve(), "x")).rejects.toThrow(/it resolved/);
  });

  it("until() and patiently() give up", async () => {
    await expect(eventually(() => false, "it is done", 5)).rejects.toThrow(
      "Not within 5 ms: it is done",
    );
    await expect(patiently(new Promise(() => {}), "it ends", 5)).rejects.toThrow(/it ends/);
    expect(await patiently(Promise.resolve(1), "it ends", 5)).toBe(1);
  });
});

describe("clock", () => {
  it("manualClock() calls due timers in their order, also those that are set meanwhile", () => {
    const clock = manualClock(100);
    const seen: unknown[] = [];
    clock.setTimeout(() => seen.push("late", clock.now()), 20);
    clock.setTimeout(() => {
      seen.push("first", clock.now());
      clock.setTimeout(() => seen.push("second", clock.now()), 5);
    }, 10);
    clock.clearTimeout(clock.setTimeout(expect.unreachable, 1));
    clock.advance(19);
    expect(seen).toEqual(["first", 110, "second", 115]);
    clock.advance(1);
    expect(seen.slice(4)).toEqual(["late", 120]);
    expect([clock.now(), clock.pending]).toEqual([120, 0]);
  });
});
