import { createReceiver, type Inbox, type Receiver, type ServiceAnswer } from "@reporthook/core";
import { eraseReport } from "@reporthook/core/store";
import { same } from "../../assert.ts";
import { endedAs, type InboxCase, type InboxFixture, valid } from "../fixture.ts";

const ada = { customer: "Ada Lovelace" };
const report = { domains: ["ada.example"] };

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
    ...{ inbox, name, logger: false, autostart: false },
    ...(inbox.guarantees.clock === "given" && { clock }),
  });
}

/** All that an inbox shows of a request. */
async function shown(inbox: Inbox, { reports }: Receiver, id: string): Promise<string> {
  return JSON.stringify([await reports.get(id), await inbox.requests?.get(id)]);
}

/** The promises about requests that a person erases. */
export const erasing: readonly InboxCase[] = [
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
      same(/ada/i.test(await shown(inbox, receiver, id)), false, "Whether it tells of somebody");
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
        told.map((text) => /ada/i.test(text)),
        [false, false, true],
        "Which are told of",
      );
      await receiver.close();
    },
  },
];
