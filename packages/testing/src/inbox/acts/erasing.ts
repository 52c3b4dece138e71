import { createReceiver, type Inbox, type Receiver, type ServiceAnswer } from "@reporthook/core";
import { eraseReport } from "@reporthook/core/store";
import { rejects, same } from "../../assert.ts";
import {
  endedAs,
  handled,
  type InboxCase,
  type InboxFixture,
  later,
  putMany,
  valid,
} from "../fixture.ts";

const ada = { customer: "Ada Lovelace" };
const many = 400;
const report = { domains: ["ada.example"] };
// Nothing that an id may contain by chance.
const tells = /lovelace|ada[.@]/i;

/** A receiver of the inbox that asks for reports, and does nothing else. */
function asking(
  { inbox, clock }: InboxFixture,
  name: string,
  ...bodies: readonly object[]
): Receiver {
  const answers = bodies.map((body): ServiceAnswer => ({ status: 201, body })).values();
  const requestReport = async () => answers.next().value ?? { status: 201, body: ada };
  const url = "https://app.example/hook";
  return createReceiver({
    client: { authorize: async () => "valid", requestReport },
    callback: { secrets: ["0123456789abcdef0123456789abcdef"], url },
    inbox,
    name,
    logger: false,
    autostart: false,
    ...(inbox.guarantees.clock === "given" && { clock }),
  });
}

/** All that an inbox shows of a request. */
async function shown(inbox: Inbox, { reports }: Receiver, id: string): Promise<string> {
  return JSON.stringify([await reports.get(id), await inbox.requests?.get(id)]);
}

/** The promises about what a person erases: of deliveries, where a store can. */
export const erasing: readonly InboxCase[] = [
  {
    name: "erase() removes what the deliveries of a report or a request tell, and keeps their number",
    async run({ inbox, clock, put, work, act }) {
      const erase = inbox.erase?.bind(inbox);
      if (erase === undefined) return;
      const told = { body: JSON.stringify({ report_id: "r-1", ...ada }) };
      const handledOne = await put(told);
      await work("verify", valid);
      await work("handle", later(0, { error: `Error: ${ada.customer}` }), handled);
      const waiting = await put({ ...told, receiver: "b" });
      const asked = await put({ requestId: "q-1", ...told, body: JSON.stringify(ada) });
      const other = await put({ body: JSON.stringify({ report_id: "r-2" }) });
      const before = await inbox.counts();
      const query = { now: clock.now(), by: "bob" };
      const ofReport = { ...query, reportId: "r-1" };
      same(await erase({ ...ofReport, dryRun: true }), 2, "How many it would erase");
      same(await inbox.counts(), before, "The counts after a dry run");
      same(await erase({ ...ofReport, receiver: "a" }), 1, "How many of one receiver");
      same([await erase(ofReport), await erase(ofReport)], [1, 0], "How many more, and again");
      same(await erase({ ...query, requestId: "q-1" }), 1, "How many of a request");
      for (const id of [handledOne, waiting, asked]) {
        const entry = await inbox.get(id);
        same(tells.test(JSON.stringify(entry)), false, "Whether it tells of somebody");
        const { at: _, ...last } = entry?.history.at(-1) ?? {};
        same([entry?.body, last], [null, { act: "erase", by: "bob" }], "What is left of it");
      }
      same((await inbox.get(handledOne))?.state, "handled", "The state of a handled one");
      const { state, reason } = (await inbox.get(waiting)) ?? {};
      same([state, reason?.code], ["dead", "erased"], "The state of one that waited");
      await rejects(act("release", asked), "not_releasable");
      same((await inbox.get(other))?.state, "received", "The state of another report's");
      const after = { ...before, received: before.received - 2, dead: before.dead + 2 };
      same(await inbox.counts(), after, "The counts");
    },
  },
  {
    name: "erase() removes what a delivery tells that is verified and handled meanwhile",
    async run(fixture) {
      const { inbox, clock, consume, put, until } = fixture;
      const erase = inbox.erase?.bind(inbox);
      if (erase === undefined) return;
      const told = { body: JSON.stringify({ report_id: "r-1", ...ada }) };
      const id = await put(told);
      // So many that erasing them takes some time.
      await putMany(fixture, many, { ...told, receiver: "b" });
      const other = { receiver: "b", concurrency: 100 };
      consume("verify", valid, other);
      const { recorded } = consume("handle", handled, other);
      await until(() => recorded.length === many, "the others are handled");
      const erasing = erase({ reportId: "r-1", now: clock.now(), by: null });
      consume("verify", valid);
      consume("handle", handled);
      same(await erasing, many + 1, "How many are erased");
      same((await inbox.get(id))?.body, null, "The body of the one that waited before");
    },
  },
  {
    name: "eraseReport() leaves a request its id, state and dates, and changes no other",
    needs: ["requests"],
    async run(fixture) {
      const { inbox, clock } = fixture;
      const receiver = asking(fixture, "b");
      const { reports } = receiver;
      const options = { context: ada, idempotencyKey: "ada@example.com" };
      const { id } = await reports.request(report, options);
      const other = await reports.request(report, { context: ada });
      const before = await reports.get(id);
      const untouched = await reports.get(other.id);
      const query = { requestId: id, now: clock.now(), by: null };
      const one = async (dryRun = false) =>
        (await eraseReport(inbox, { ...query, dryRun })).requests;
      same(await one(true), 1, "How many it would erase");
      same(await reports.get(id), before, "The request after a dry run");
      same([await one(), await one()], [1, 0], "How many it erased, and then again");
      const nothing = { report: {}, context: null, answer: null, idempotencyKey: null };
      same(await reports.get(id), { ...before, ...nothing }, "The request");
      same(tells.test(await shown(inbox, receiver, id)), false, "Whether it tells of somebody");
      same(await reports.get(other.id), untouched, "The other request");
      same((await reports.counts()).open, 2, "The number of requests");
      const again = await reports.request(report, options);
      same(again.id === id, false, "Whether the key is known");
      await receiver.close();
    },
  },
  {
    name: "eraseReport() finds the requests of a report by its deliveries and by the service's answer",
    needs: ["requests"],
    async run(fixture) {
      const { inbox, clock, put, work } = fixture;
      const receiver = asking(fixture, "a", { ...ada, report_id: "r-7" });
      const { reports } = receiver;
      const ids: string[] = [];
      for (let count = 0; count < 3; count++) {
        ids.push((await reports.request(report, { context: ada })).id);
      }
      await put({ requestId: ids[1] ?? "" });
      const held = endedAs("held", "no_handler");
      await work("verify", { ...valid, reportId: "r-8" });
      await work("handle", { ...held, type: "unknown", reportId: "r-8" });
      const erased = async (reportId: string) =>
        (await eraseReport(inbox, { reportId, now: clock.now(), by: null })).requests;
      same(await erased("r-9"), 0, "How many are of a report that nobody knows");
      same([await erased("r-7"), await erased("r-8")], [1, 1], "How many are of the others");
      const told = await Promise.all(ids.map((id) => shown(inbox, receiver, id)));
      same(
        told.map((text) => tells.test(text)),
        [false, false, true],
        "Which are told of",
      );
      await receiver.close();
    },
  },
];
