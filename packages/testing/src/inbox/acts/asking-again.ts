import { wholeRejected } from "@reporthook/core/store";
import { rejects, same } from "../../assert.ts";
import { endedAs, handled, type InboxCase, type InboxFixture, putMany, valid } from "../fixture.ts";

const invalid = endedAs("rejected", "invalid_signature");

/** The promises about rejected deliveries, which may have been rejected with a wrong key. */
export const askingAgain: readonly InboxCase[] = [
  {
    name: "retry() has rejected deliveries verified again when their state or reason is named, with all that they had",
    async run(fixture) {
      const { inbox, act, put, work } = fixture;
      const parts = { signature: "s-1", body: '{"b":1}', url: "/hook?a=1", context: '{"c":1}' };
      const id = await put(parts);
      await work("verify", invalid);
      await put({ signature: "s-2" });
      await work("verify", endedAs("rejected", "expired", { verification: "expired" }));
      await rejects(act("retry", id), "not_releasable");
      same(await act("retry", { from: new Date(0) }), 0, "How many without a state");
      same(await act("retry", { reason: "invalid_signature" }, { by: "ada" }), 1, "By the reason");
      same(inbox.backlog("a").unverified, 1, "How many wait for a verdict");
      const entry = await inbox.get(id);
      same([entry?.state, entry?.reason], ["received", null], "The entry");
      const [job] = await work("verify", valid);
      const body = new TextDecoder().decode(job?.body);
      same(
        [job?.id, job?.signature, body, job?.url, job?.context],
        [id, parts.signature, parts.body, parts.url, parts.context],
        "The job",
      );
      same([job?.attempts, job?.verification, job?.released], [0, null, false], "What is known");
      await work("handle", handled);
      const history = (await inbox.get(id))?.history ?? [];
      const told = history.map((item) => ("act" in item ? [item.act, item.by] : item.outcome));
      same(told, ["rejected", ["retry", "ada"], "verified", "handled"], "The history");
      same(await act("retry", { state: "rejected" }), 1, "By the state");
      same((await inbox.counts("a")).rejected, 0, "How many are rejected");
      const [other] = await work("verify", invalid);
      same([other?.signature, other?.verification], ["s-2", null], "The job of the expired one");
    },
  },
  {
    name: "retry() of a rejected delivery that was released before leaves it to the service: nobody vouches for it any more",
    async run({ act, put, work }) {
      const id = await put();
      await work("verify", endedAs("held", "not_verified"));
      await act("release", id);
      const [released] = await work("verify", invalid);
      same(released?.released, true, "What is known once it is released");
      same(await act("retry", { state: "rejected" }), 1, "How many are asked about again");
      const [again] = await work("verify", valid);
      same([again?.id, again?.released], [id, false], "What is known then");
    },
  },
  {
    name: "retry() finds the newest 1,000 of many rejected deliveries: the others have neither body nor signature",
    async run(fixture) {
      const { inbox, act, put } = fixture;
      const { max } = wholeRejected;
      const first = await put();
      await fixture.work("verify", invalid);
      await putMany(fixture, max);
      await reject(fixture, max);
      same((await inbox.get(first))?.body, null, "The body of the oldest");
      same((await inbox.counts("a")).rejected, max + 1, "How many are rejected");
      same(await act("retry", { state: "rejected" }), max, "How many are asked about again");
      same((await inbox.get(first))?.state, "rejected", "The oldest");
    },
  },
  {
    name: "retry() finds the newest rejected deliveries, of 16 MiB at most",
    async run(fixture) {
      const { act } = fixture;
      const body = `"${"a".repeat(200_000)}"`;
      const many = 2 * Math.ceil(wholeRejected.bytes / body.length);
      await putMany(fixture, many, { body });
      await reject(fixture, many);
      const again = await act("retry", { state: "rejected" }, { dryRun: true });
      same(again * body.length <= wholeRejected.bytes, true, `${again} fit`);
    },
  },
];

/** Rejects so many. */
async function reject({ consume, until, patiently }: InboxFixture, many: number): Promise<void> {
  const { consumer, recorded } = consume("verify", invalid, { concurrency: 50 });
  await until(() => recorded.length === many, "all are rejected");
  await patiently(consumer.stop(), "stop()");
}
