import { errorKeyOf } from "@reporthook/core/store";
import { same, sameEach } from "../../assert.ts";
import { endedAs, handled, type InboxCase, type InboxFixture, later, valid } from "../fixture.ts";

const lost = (nth: number): string =>
  `Error: report lost-${nth} was deleted\n    at download (app.js:${nth}:7)`;
const full = "Error: disk full";

/** The promises about groups of equal errors. */
export const errors: readonly InboxCase[] = [
  {
    name: "errors() groups parked deliveries by error, largest first, without regard to numbers and ids in it",
    async run(fixture) {
      const { inbox, clock, put, work } = fixture;
      const now = clock.now();
      await fail(fixture, now - 4_000, full, "attempts_used_up");
      await fail(fixture, now - 3_000, lost(1), "attempts_used_up");
      await fail(fixture, now - 2_000, lost(22), "do_not_retry");
      await put();
      await work("verify", endedAs("held", "no_handler"));
      const groups = await inbox.errors({ receiver: "a" });
      const first = { error: errorKeyOf(lost(1)), text: "Error: report lost-22 was deleted" };
      const span = { oldest: new Date(now - 3_000), newest: new Date(now - 2_000) };
      const reasons = { attempts_used_up: 1, do_not_retry: 1 };
      same(groups[0], { ...first, count: 2, ...span, reasons }, "The largest group");
      same(
        groups.slice(1).map(({ text, count }) => [text, count]),
        [[full, 1]],
        "The others: what is parked without an error has none",
      );
      same(await inbox.errors({ receiver: "b" }), [], "The groups of another receiver");
      same(await inbox.errors(), groups, "The groups of all receivers");
      same((await inbox.errors({ state: "held" })).length, 0, "The groups of another state");
    },
  },
  {
    name: "list() and act() choose by the key of an error",
    async run(fixture) {
      const { inbox, clock, act } = fixture;
      const now = clock.now();
      await fail(fixture, now, full, "attempts_used_up");
      const ids = [
        await fail(fixture, now, lost(1), "attempts_used_up"),
        await fail(fixture, now, lost(2), "do_not_retry"),
      ];
      const error = errorKeyOf(lost(3));
      const found = await inbox.list({ error, state: "parked" });
      sameEach(found, "id", ids, "The list");
      sameEach(found, "error", [error, error], "The key of each");
      same((await inbox.get(ids[0] ?? ""))?.error, error, "The key of one in full");
      const some = { error, reason: "do_not_retry", state: "parked" } as const;
      same((await inbox.list(some)).length, 1, "Together with the reason");
      same(await act("release", { error }), 2, "How many are released");
      sameEach(await inbox.errors(), "text", [full], "The groups that are left");
    },
  },
  {
    name: "an entry that was handled, or never failed, has no key of an error",
    needs: ["search"],
    async run({ inbox, put, work }) {
      const id = await put();
      same((await inbox.get(id))?.error, null, "At first");
      await work("verify", valid);
      await work("handle", later(0, { error: full }));
      same((await inbox.get(id))?.error, errorKeyOf(full), "While it waits for its next attempt");
      same((await inbox.errors({ state: "verified" }))[0]?.count, 1, "The group of these");
      same(await inbox.errors(), [], "The groups of parked ones");
      await work("handle", handled);
      same((await inbox.get(id))?.error, null, "Once it is handled");
      same(await inbox.list({ error: errorKeyOf(full) }), [], "What is found by the key");
    },
  },
];

/** Parks one that was received at a moment, with an error; resolves to its id. */
async function fail(
  { put, work }: InboxFixture,
  at: number,
  error: string,
  reason: "attempts_used_up" | "do_not_retry",
): Promise<string> {
  const id = await put({ at });
  await work("verify", valid);
  await work("handle", endedAs("dead", reason, { error }));
  return id;
}
