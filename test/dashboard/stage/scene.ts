import { DoNotRetry, type Receiver, type RequestState, RetryAfter } from "@reporthook/core";
import { deliveryMaker } from "@reporthook/testing/internals";
import type { Stage } from "./stage.ts";

/** Handlers that fail in the ways in which handlers fail. */
export function failingHandlers(receiver: Receiver): void {
  receiver.on("test_webhook_endpoint", () => {});
  receiver.on("report.complete", ({ reportId }, { attempt }) => {
    if (reportId?.startsWith("lost")) {
      throw new DoNotRetry(`No account for report ${reportId}: it was deleted`);
    }
    if (reportId?.startsWith("slow")) {
      throw new RetryAfter(attempt * 90_000);
    }
    if (reportId?.startsWith("full")) throw new Error("ENOSPC: no space left on device, write");
  });
}

/** Deliveries as an app has them after a while, each tried: most are handled, some are stuck. */
export async function play({ send, receiver }: Stage): Promise<void> {
  await send("test_webhook_endpoint");
  for (let number = 1; number <= 24; number++) {
    await send("report.processing", { reportId: `q3-sales-${number}` });
    await send("report.complete", { reportId: `q3-sales-${number}` });
  }
  for (const number of [31, 32, 33]) {
    await send("report.complete", { reportId: `lost-${number}`, body: report(`lost-${number}`) });
  }
  await send("report.complete", { reportId: "slow-41" });
  await send("report.complete", { signature: "expired", reportId: "q2-sales-8" });
  await send("report.complete", { signature: "invalid", reportId: "q3-sales-2" });
  await send("report.complete", { body: { kind: "invoice.created", number: 7 } });
  const isAtWork = async (): Promise<boolean> => {
    if ((await receiver.inbox.counts()).received > 0) return true;
    const waiting = await receiver.inbox.list({ state: "verified" });
    return waiting.some(({ attempts }) => attempts === 0);
  };
  while (await isAtWork()) await pause();
}

/** Reports that an app has asked for: one in each state, by its request. */
export async function askForReports({
  receiver,
  emulator,
}: Stage): Promise<Record<RequestState | "overdue", string>> {
  const { reports } = receiver;
  let number = 0;
  const ask = async (domain: string, overdueMs?: number): Promise<string> => {
    const context = { customer: `c-${++number}`, plan: "team" };
    const options = { context, idempotencyKey: `key-${number}` };
    const report = { domains: [domain], start_date: "2026-01", end_date: "2026-10" };
    return (await reports.request(report, { ...options, overdueMs })).id;
  };
  const end = async (status: "complete" | "internal_error"): Promise<string> => {
    const id = await ask(`${status.replace("_", "-")}.example`);
    emulator.reports.setStatus(emulator.reports.list().at(-1)?.id ?? "", status);
    await reports.wait(id);
    return id;
  };
  const [complete, internal_error] = [await end("complete"), await end("internal_error")];
  const open = await ask("open.example");
  while ((await reports.get(open))?.processingAt === null) await pause();
  emulator.fault("delivery", { drop: true, times: 1 });
  const overdue = await ask("overdue.example", 1);
  while ((await reports.counts()).overdue === 0) await pause();
  emulator.fault("request-report", { status: 500, times: 1 });
  const failure = await ask("unconfirmed.example").catch((error: unknown) => error);
  const { requestId: unconfirmed } = failure as { readonly requestId: string };
  return { complete, internal_error, open, overdue, unconfirmed };
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

function report(id: string): Record<string, unknown> {
  return {
    event_type: "report_status_changed",
    report: { id, status: "complete", rows: 18_204, download_token: "must not be shown" },
    requested_by: "Zoë",
  };
}

const make = deliveryMaker(Date.now);

/** Adds a genuine report, as if it had come at this moment. */
export async function addAt({ inbox }: Stage, at: number, reportId: string): Promise<void> {
  const body = JSON.stringify({ status: "complete", id: reportId });
  const delivery = await make({ receiver: "reports", signature: null, at, body });
  const type = "report.complete";
  await inbox.add(delivery, { to: "verified", verification: "valid", type, reportId });
}

/** Adds the deliveries of an hour, as if it had just passed. */
export async function passAnHour(stage: Stage): Promise<void> {
  const now = Date.now();
  let number = 0;
  for (let minute = 58; minute > 0; minute--) {
    const many = Math.round(5 + 4 * Math.sin(minute / 6) + 3 * Math.cos(minute / 2.3));
    for (let count = 0; count < many; count++) {
      await addAt(stage, now - minute * 60_000 - count * 1_500, `hourly-${++number}`);
    }
  }
  await stage.receiver.idle({ timeoutMs: 30_000 });
}
