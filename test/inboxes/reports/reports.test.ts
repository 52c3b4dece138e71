import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createReceiver, type EventOf, type ReportRequest } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { patient } from "@reporthook/test-support/patient";
import { programOf } from "@reporthook/test-support/program";
import { turnUntil } from "@reporthook/test-support/receiver-setup";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { describe, expect, it, onTestFinished } from "vitest";
import type { EndPoint } from "./asking-process.ts";
import { secret, url } from "./scene.ts";

const report = { domains: ["example.com"] };
const options = { context: { customer: "c-1" }, idempotencyKey: "k" };

const file = await programOf(new URL("asking-process.ts", import.meta.url));

/** A receiver on the file of a process that was killed at this point, and the URLs that the service was sent. */
async function killedAt(point: EndPoint) {
  const folder = temporaryFolder();
  const [db, log] = [join(folder, "inbox.db"), join(folder, "sent.txt")];
  const runTo = (end: EndPoint) =>
    once(fork(file, [db, log, end], { env: { ...process.env, NODE_OPTIONS: "" } }), "exit");
  expect(await runTo(point)).toEqual([null, "SIGKILL"]);
  const sentBefore = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
  const sent: string[] = [];
  const seen: EventOf[] = [];
  const receiver = createReceiver({
    client: {
      authorize: async () => "valid",
      async requestReport(given: ReportRequest) {
        sent.push(given.webhook_url ?? "");
        return { status: 202, body: {} };
      },
    },
    inbox: sqliteInbox(db),
    callback: { secrets: [secret], url },
    logger: false,
    ...patient,
  });
  receiver.on("*", (event) => void seen.push(event));
  onTestFinished(() => receiver.close());
  const idle = async () => {
    await receiver.start();
    await receiver.idle({ timeoutMs: 120_000 });
  };
  return { receiver, reports: receiver.reports, sentBefore, sent, seen, idle, runTo, log };
}

describe("a process that is killed", () => {
  it("a request that was stored and not sent is unconfirmed, told as overdue, and sent when told", async () => {
    const { reports, sentBefore, sent, seen, idle } = await killedAt("stored");
    expect(sentBefore).toEqual([]);
    await idle();
    expect(seen).toMatchObject([{ type: "report.overdue", confirmed: false, ...pick(options) }]);
    const { id, answer } = await reports.request(report, options);
    expect([answer, sent]).toEqual([null, []]);
    expect(await reports.get(id)).toMatchObject({ state: "unconfirmed" });
    expect((await reports.request(report, { ...options, resend: true })).id).toBe(id);
    expect(sent).toHaveLength(1);
    expect(await reports.get(id)).toMatchObject({ state: "open", answer: { status: 202 } });
  });

  it("a request that was stored and not sent keeps another process alive that waits for its answer", async () => {
    const { reports, sent, runTo, log } = await killedAt("stored");
    const ended = runTo("answered");
    await turnUntil(() => existsSync(log));
    await reports.request(report, { ...options, resend: true });
    expect(sent).toHaveLength(1);
    expect(await ended).toEqual([0, null]);
  });

  it("a request that was sent and not recorded is never sent again by itself, and confirmed by its notification", async () => {
    const { receiver, reports, sentBefore, sent, seen } = await killedAt("sent");
    expect((await reports.request(report, options)).answer).toBeNull();
    const headers = { "X-svc-authorization": "s" };
    const body = '{"status":"processing"}';
    const request = new Request(sentBefore[0] ?? "", { method: "POST", headers, body });
    expect((await receiver.fetch(request)).status).toBe(200);
    await receiver.idle({ timeoutMs: 120_000 });
    expect(await reports.list()).toMatchObject([{ state: "open", answer: null }]);
    expect(seen.find(({ type }) => type === "report.processing")).toMatchObject(pick(options));
    expect(sent).toEqual([]);
  });

  it("a request that came due while no process ran is told as overdue, once", async () => {
    const { reports, seen, idle } = await killedAt("recorded");
    await idle();
    await idle();
    expect(seen).toMatchObject([{ type: "report.overdue", confirmed: true, ...pick(options) }]);
    expect(await reports.counts()).toMatchObject({ open: 1, overdue: 1 });
  });

  it("a status that was settled and not handled is handled by the next process, once", async () => {
    const { reports, seen, idle } = await killedAt("settled");
    expect(await reports.list()).toMatchObject([{ state: "complete" }]);
    await idle();
    expect(seen.filter(({ type }) => type === "report.complete")).toMatchObject([
      { verification: "settled", body: { file: "r" }, ...pick(options) },
    ]);
    const [request] = await reports.list();
    expect(await reports.settle(request?.id ?? "", "complete")).toBe(false);
  });
});

function pick({ context }: typeof options) {
  return { context };
}
