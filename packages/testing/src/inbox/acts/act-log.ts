import { maxActs, sumOf } from "@reporthook/core/store";
import { same, sameEach } from "../../assert.ts";
import { endedAs, type InboxCase, type InboxFixture, putMany, valid } from "../fixture.ts";
import { unsigned } from "./retaining.ts";

/** The promises of `acts`. */
export const actLog: readonly InboxCase[] = [
  {
    name: "acts() has who did what, on which selection and with how many, newest first",
    async run(fixture) {
      const { inbox, act, clock, work } = fixture;
      const [first = ""] = await parkThree(fixture);
      const begin = clock.now();
      const until = new Date(clock.now() + 60_000);
      await act("release", first, { by: "ada" });
      await work("handle", endedAs("dead", "do_not_retry"));
      await act("discard", { state: "dead", reason: "do_not_retry", until }, { by: "bob@web-1" });
      const [last, before, ...others] = await inbox.acts({ receiver: "a" });
      same(others, [], "Other acts");
      const selection = { state: "dead", reason: "do_not_retry", until };
      same(
        { ...last, at: 0 },
        {
          at: 0,
          by: "bob@web-1",
          act: "discard",
          selection,
          count: 3,
        },
        "The last act",
      );
      const { at, ...rest } = before ?? {};
      const released = { selection: { id: first }, count: 1 };
      same(rest, { by: "ada", act: "release", ...released }, "The first");
      same((at?.getTime() ?? 0) >= begin - 1, true, "Whether it has its time");
      same(await inbox.acts({ receiver: "b" }), [], "The acts on another receiver");
      same((await inbox.acts()).length, 2, "The acts on all receivers");
      sameEach(await inbox.acts({ limit: 1 }), "act", ["discard"], "The last one alone");
    },
  },
  {
    name: "acts() leaves out a dry run and an act that changed nothing",
    async run(fixture) {
      const { inbox, act } = fixture;
      await parkThree(fixture);
      await act("release", { state: "dead" }, { dryRun: true });
      await act("release", { state: "held" });
      same(await inbox.acts(), [], "The acts");
    },
  },
  {
    name: "acts() has of an act that ended half way how many it changed until then",
    async run(fixture) {
      const { inbox, clock, consume, until, patiently } = fixture;
      await putMany(fixture, 1_100);
      const { consumer, recorded } = consume("verify", endedAs("held", "no_handler"), {
        concurrency: 100,
      });
      await until(() => recorded.length === 1_100, "all are parked");
      await patiently(consumer.stop(), "stop()");
      const query = { receiver: "a", state: "held", now: clock.now(), by: "ada" } as const;
      for await (const step of inbox.act({ ...query, act: "release" })) {
        const [begun] = await inbox.acts();
        same(begun?.count, sumOf(step.counts), "How many, after its first step");
        break;
      }
      const { held } = await inbox.counts("a");
      const [one, ...others] = await inbox.acts();
      same([one?.count, others], [1_100 - held, []], "How many, and other acts");
    },
  },
  {
    name: "acts() has the last 1,000",
    async run({ inbox, act, put, patiently }) {
      const unsignedOne = { signature: null, arrival: unsigned };
      const [last = "", ...ids] = await putMany({ put, patiently }, maxActs + 1, unsignedOne);
      for (let from = 0; from < ids.length; from += 50) {
        const some = ids.slice(from, from + 50).map((id) => act("discard", id));
        await patiently(Promise.all(some), "discard()");
      }
      await act("discard", last, { by: "ada" });
      const kept = await inbox.acts({ limit: Number.POSITIVE_INFINITY });
      same([kept.length, kept[0]?.by, kept[1]?.by], [maxActs, "ada", null], "The acts kept");
    },
  },
];

/** Parks three; resolves to their ids. */
async function parkThree({ put, work }: InboxFixture): Promise<string[]> {
  const ids: string[] = [];
  for (let count = 0; count < 3; count++) {
    ids.push(await put());
    await work("verify", valid);
    await work("handle", endedAs("dead", "do_not_retry"));
  }
  return ids;
}
