import { bullmqInbox } from "@reporthook/bullmq";
import {
  createReceiver,
  type EventOf,
  type Inbox,
  type ReportRequest,
  type ServiceAnswer,
  ServiceError,
} from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { gate } from "@reporthook/test-support/gate";
import { testWith } from "@reporthook/test-support/needs";
import { patient } from "@reporthook/test-support/patient";
import { turns, turnUntil } from "@reporthook/test-support/receiver-setup";
import { noRedis, type Server, startRedis } from "@reporthook/test-support/servers";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openGate } from "../bullmq/gate.ts";
import { secret, url } from "./scene.ts";

const report = { domains: ["example.com"] };
const context = { customer: "c-1" };
const options = { context, idempotencyKey: "k" };
const refusal = new ServiceError("service_failed", "no", { serviceStatus: 400, retryable: false });
const ok: ServiceAnswer = { status: 202, body: {} };
let prefixes = 0;
let redis: Promise<Server> | undefined;
afterAll(async () => await (await redis)?.stop());

/** The inbox of each process: a receiver refuses a second one of its name on its store, unless that is in another process. */
const asOfAnotherProcess = (inbox: Inbox) => Object.assign(inbox, { identity: {} });

/** The inboxes of two processes on one store. Of one process, reports.test.ts of core has all of it in memory. */
const stores = {
  SQLite: async () => {
    const path = temporaryPath();
    const open = () => asOfAnotherProcess(sqliteInbox(path));
    return [open(), open()];
  },
  Redis: async () => {
    redis ??= startRedis();
    const options = { connection: (await redis).url, prefix: `reports_${++prefixes}` };
    const open = () => asOfAnotherProcess(bullmqInbox({ ...options, logger: false }));
    return [open(), open()];
  },
} satisfies Record<string, () => Promise<Inbox[]>>;

/** Counts how often an inbox has answered about requests. */
function looksOf(inbox: Inbox | undefined, method: "add" | "get"): () => number {
  const { requests } = inbox ?? {};
  if (requests === undefined) throw new Error("There is no inbox");
  const ask = requests[method] as (...given: unknown[]) => Promise<unknown>;
  let looks = 0;
  const counted = async (...given: unknown[]) => {
    const found = await ask(...given);
    looks++;
    return found;
  };
  Object.assign(requests, { [method]: counted });
  return () => looks;
}

/** Receivers on the inboxes of a store: the first asks, and the last is told. */
async function receiversOn(
  inboxes: readonly Inbox[],
  answer: () => Promise<ServiceAnswer> = async () => ok,
) {
  const sent: string[] = [];
  const seen: EventOf[] = [];
  const all = inboxes.map((inbox) =>
    createReceiver({
      client: {
        authorize: async () => "valid",
        async requestReport({ webhook_url }: ReportRequest) {
          sent.push(webhook_url ?? "");
          return answer();
        },
      },
      inbox,
      callback: { secrets: [secret], url },
      logger: false,
      ...patient,
    }),
  );
  for (const receiver of all) receiver.on("*", (event) => void seen.push(event));
  onTestFinished(async () => void (await Promise.all(all.map((one) => one.close()))));
  const [asking, told] = [all[0], all.at(-1)];
  if (asking === undefined || told === undefined) throw new Error("There is no inbox");
  const idle = async () => {
    await Promise.all(all.map((one) => one.start()));
    await Promise.all(all.map((one) => one.idle({ timeoutMs: 120_000 })));
  };
  let notified = 0;
  const notify = async (receiver: typeof told, status: string) => {
    const headers = { "X-svc-authorization": `s-${++notified}` };
    const body = JSON.stringify({ status, report_id: "r-1" });
    const request = new Request(sent[0] ?? "", { method: "POST", headers, body });
    expect((await receiver.fetch(request)).status).toBe(200);
    await idle();
  };
  return { asking, told, sent, seen, idle, notify };
}

describe.each(Object.entries(stores))("%s", (kind, open) => {
  const test = testWith(kind === "Redis" ? noRedis : null);

  test("a report is followed to its end by two processes, and each status is handled once", async () => {
    const { asking, told, sent, seen, notify } = await receiversOn(await open());
    const { id, answer } = await asking.reports.request(report, options);
    expect(await told.reports.request(report, options)).toEqual({ id, answer });
    expect(sent).toHaveLength(1);
    await notify(told, "processing");
    expect(await asking.reports.get(id)).toMatchObject({ processingAt: expect.any(Date) });
    for (const receiver of [told, asking, told]) await notify(receiver, "complete");
    const about = { requestId: id, context, reportId: "r-1" };
    expect(seen).toMatchObject([
      { type: "report.processing", ...about },
      { type: "report.complete", ...about },
    ]);
    expect(await asking.reports.wait(id)).toMatchObject({ state: "complete", reportId: "r-1" });
    const none = { unconfirmed: 0, open: 0, internal_error: 0, overdue: 0 };
    expect(await told.reports.counts()).toEqual({ ...none, complete: 1 });
  });

  test("a request that one of two processes sends again outlives the refusal of the other one's call", async () => {
    const [first, second] = [gate(), gate()];
    const answers = [() => first.opened.then(() => Promise.reject(refusal)), () => second.opened];
    const answer = async () => {
      await answers.shift()?.();
      return ok;
    };
    const { asking, told, sent, seen, notify } = await receiversOn(await open(), answer);
    const calling = asking.reports.request(report, options).catch((error: unknown) => error);
    await turnUntil(() => sent.length === 1);
    const again = told.reports.request(report, { ...options, resend: true });
    await turnUntil(() => sent.length === 2);
    first.open();
    expect(await calling).toBe(refusal);
    second.open();
    const { id } = await again;
    for (const receiver of [told, asking]) await notify(receiver, "complete");
    expect(seen).toMatchObject([{ type: "report.complete", requestId: id, context }]);
    expect(await asking.reports.get(id)).toMatchObject({ state: "complete", answer: ok });
  });

  test("reports.request() with the key of a call in another process waits for it: after a refusal it asks itself", async () => {
    const called = gate();
    const inboxes = await open();
    const looks = looksOf(inboxes[1], "add");
    const { asking, told, sent } = await receiversOn(inboxes, async () => {
      if (sent.length > 1) return ok;
      await called.opened;
      throw refusal;
    });
    const refused = asking.reports.request(report, options).catch((error: unknown) => error);
    await turnUntil(() => sent.length === 1);
    const second = told.reports.request(report, options);
    await turnUntil(() => looks() > 0);
    called.open();
    expect(await refused).toBe(refusal);
    const { id, answer } = await second;
    expect([answer, sent.length]).toEqual([ok, 2]);
    expect(await asking.reports.list()).toMatchObject([{ id, state: "open" }]);
  });

  test("reports.request() that waits for a call in another process asks nothing once its receiver is closed", async () => {
    const called = gate();
    const inboxes = await open();
    const looks = looksOf(inboxes[1], "add");
    const { asking, told, sent } = await receiversOn(inboxes, async () => {
      await called.opened;
      throw refusal;
    });
    const refused = asking.reports.request(report, options).catch((error: unknown) => error);
    await turnUntil(() => sent.length === 1);
    const waiting = told.reports.request(report, options).catch((error: unknown) => error);
    await turnUntil(() => looks() > 0);
    await told.close({ timeoutMs: 1 });
    called.open();
    expect(await refused).toBe(refusal);
    expect(await waiting).toMatchObject({ code: "closed" });
    expect(sent).toHaveLength(1);
    expect(await asking.reports.list()).toEqual([]);
  });

  test("reports.settle() in one of two processes answers reports.wait() in the other", async () => {
    const inboxes = await open();
    const looks = looksOf(inboxes[0], "get");
    const { asking, told, seen, idle } = await receiversOn(inboxes);
    const { id } = await asking.reports.request(report, { context });
    const before = looks();
    const waiting = asking.reports.wait(id);
    await turnUntil(() => looks() > before);
    await turns();
    const body = { file: "r" };
    const settling = [1, 2].map(() => told.reports.settle(id, "complete", { body }));
    expect((await Promise.all(settling)).filter(Boolean)).toEqual([true]);
    expect(await waiting).toMatchObject({ id, state: "complete", context });
    await idle();
    expect(seen).toMatchObject([
      { type: "report.complete", requestId: id, verification: "settled", body, context },
    ]);
    expect(await asking.reports.settle(id, "complete")).toBe(false);
  });
});

testWith(noRedis)(
  "reports.request() sends a request that Redis has stored and not answered when it is asked for again",
  async () => {
    redis ??= startRedis();
    const gate = await openGate((await redis).url);
    onTestFinished(() => gate.close());
    const prefix = `reports_${++prefixes}`;
    const inbox = bullmqInbox({ connection: gate.url, prefix, logger: false });
    const { asking, sent } = await receiversOn([inbox]);
    await asking.reports.list();
    gate.holdAnswers("c-1");
    const failing = asking.reports.request(report, options).catch((error: unknown) => error);
    await turnUntil(() => gate.holds);
    gate.sever();
    expect(await failing).toMatchObject({ code: "inbox_failed" });
    const list = () => asking.reports.list().catch(() => null);
    await turnUntil(list);
    expect(await list()).toMatchObject([{ state: "unconfirmed" }]);
    const { id, answer } = await asking.reports.request(report, options);
    expect(answer).toEqual(ok);
    expect(await asking.reports.list()).toMatchObject([{ id, state: "open" }]);
    expect(sent).toHaveLength(1);
  },
);

it("receiver.reports on PostgreSQL rejects with a TypeError that says what to set", async () => {
  const inbox = bullmqInbox({ connection: "postgres://127.0.0.1:1/none", logger: false });
  const { asking, sent } = await receiversOn([inbox]);
  for (const call of [asking.reports.request(report), asking.reports.list()]) {
    const failure = await call.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect(String(failure)).toMatch(/keeps no requests\. .* bullmqInbox on Redis/);
  }
  expect(sent).toEqual([]);
});
