import type { Entry } from "@reporthook/core";
import { same, truly } from "../assert.ts";
import { endedAs, handled, type InboxCase, type InboxFixture, valid } from "./fixture.ts";

/** The promises about a record that the store has lost or can't read: it stops no other delivery, and it is reported. */
export const damaged: readonly InboxCase[] = [
  {
    name: "consume() goes on with all others when a record is lost or can't be read",
    needs: ["damage"],
    async run(fixture) {
      const { damage, put, work } = fixture;
      const unverified = [await put(), await put(), await put()];
      await damage(unverified[0] ?? "");
      await allLooks(fixture, unverified.slice(1));
      await allEnd(fixture, unverified);
      const verified = [await put(), await put(), await put()];
      await work("verify", valid, valid, valid);
      await damage(verified[1] ?? "");
      await allLooks(fixture, [unverified[2] ?? "", verified[0] ?? "", verified[2] ?? ""]);
      await allEnd(fixture, verified);
    },
  },
  {
    name: "list(), release() and prune() go on with all others when a parked or handled record is lost or can't be read",
    needs: ["damage"],
    async run(fixture) {
      const { inbox, act, clock, damage, put, work } = fixture;
      const parked = [await put(), await put(), await put()];
      await work("verify", ...parked.map(() => endedAs("held", "not_verified")));
      const done = [await put(), await put()];
      await work("verify", valid, valid);
      await work("handle", handled, handled);
      await damage(parked[0] ?? "");
      await damage(done[0] ?? "");
      await allLooks(fixture, [...parked.slice(1), done[1] ?? ""]);
      await inbox.prune(new Date(clock.now()));
      await act("discard", parked[0] ?? "").catch(unlessNotFound);
      same(await inbox.get(parked[0] ?? ""), null, "The lost one when it is discarded");
      const released = await act("release", { reason: "not_verified" });
      same(released, 2, "How many of the others are released");
      await inbox.prune(new Date(clock.now() + 366 * 86_400_000));
      await allEnd(fixture, parked.slice(1));
    },
  },
];

/** Looks in every way; fails unless all of these are seen. */
async function allLooks({ inbox, clock }: InboxFixture, ids: readonly string[]): Promise<void> {
  const now = clock.now();
  const listed: readonly Entry[] = await inbox.list({ receiver: "a" });
  for (const id of ids) {
    truly(
      listed.some((entry) => entry.id === id),
      `${id} is listed`,
    );
  }
  await inbox.list({ newestFirst: true, from: new Date(now - 3_600_000) });
  for (const { id } of listed) await inbox.get(id);
  await inbox.summary({ from: new Date(now - 3_600_000), until: new Date(now + 60_000) });
  await inbox.counts();
  await inbox.facts("a");
  same(await inbox.health(), { ok: true }, "How the inbox is");
}

/** Works until nothing waits; fails unless every delivery is handled or reported as lost. */
async function allEnd(
  { inbox, consume, until }: InboxFixture,
  ids: readonly string[],
): Promise<void> {
  const consuming = [consume("verify", valid), consume("handle", handled)];
  await until(async () => {
    const { received, verified } = await inbox.counts("a");
    return received + verified === 0;
  }, "nothing waits");
  await Promise.all(consuming.map(({ consumer }) => consumer.stop()));
  const told = consuming.flatMap(({ recorded }) => recorded);
  for (const id of ids) {
    const ended = told.some(({ job, outcome }) => job.id === id && outcome.to !== "verified");
    const isHandled = (await inbox.get(id))?.state === "handled";
    truly(ended || isHandled, `it is told what became of ${id}`);
  }
  const lost = told.filter(({ outcome }) => outcome.to !== "verified" && outcome.to !== "handled");
  truly(lost.length <= 1, `only the damaged one is parked, of ${ids.length}`);
}

function unlessNotFound(error: { readonly code?: unknown }): void {
  if (error.code !== "not_found") throw error;
}
