import { readFileSync } from "node:fs";
import type { Inbox, RequestRecord, RequestState } from "@reporthook/core";
import { type StoredReports, storedReports, systemClock } from "@reporthook/core/store";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { type Column, duration, pairs, table } from "../lib/layout.ts";
import { usualReceiver } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type InboxSource, withInbox } from "./source.ts";
import { entryTable } from "./view.ts";

/** Options of `reports list`. */
export interface ReportsOptions extends InboxSource {
  readonly state?: RequestState | "overdue";
  readonly limit: number;
  readonly after?: string;
}

/** Options of `reports settle`. */
export interface SettleOptions extends InboxSource {
  readonly body?: string;
}

/** Runs `reports list`: prints a line for each request, oldest first. */
export async function runReports(terminal: Terminal, options: ReportsOptions): Promise<void> {
  const { state, limit, after } = options;
  await withReports(terminal, options, async (reports) => {
    const found = await reports.list({ state, limit: limit + 1, after });
    const requests = found.slice(0, limit);
    const next = found.length > limit ? (requests.at(-1)?.id ?? null) : null;
    terminal.emit({ requests, next });
    if (requests.length === 0) terminal.print("Nothing.");
    else for (const line of requestTable(requests, terminal)) terminal.print(line);
    if (next !== null) terminal.tell(`More: --after ${next}`);
  });
}

/** Runs `reports show`: prints a request in full, with its deliveries. */
export async function runReport(
  terminal: Terminal,
  given: string,
  options: InboxSource,
): Promise<void> {
  const { receiver = usualReceiver } = options;
  await withReports(terminal, options, async (reports, inbox) => {
    const request = await findRequest(reports, given);
    const deliveries = await inbox
      .list({ receiver, requestId: request.id, limit: 1_000 })
      // Queues can't look for them.
      .catch(() => null);
    terminal.emit({ ...request, deliveries });
    for (const line of requestLines(request, terminal)) terminal.print(line);
    if (deliveries === null || deliveries.length === 0) return;
    terminal.print("");
    for (const line of entryTable(deliveries, terminal)) terminal.print(line);
  });
}

/** Runs `reports settle`: tells a final status that no notification brought. */
export async function runSettle(
  terminal: Terminal,
  given: string,
  status: string,
  options: SettleOptions,
): Promise<void> {
  if (status !== "complete" && status !== "internal_error") {
    throw new UsageError(`The status must be complete or internal_error, not ${status}`);
  }
  const body = options.body === undefined ? {} : bodyOf(options.body);
  await withReports(terminal, options, async (reports) => {
    const { id, state } = await findRequest(reports, given);
    const settled = await reports.settle(id, status, { body });
    terminal.emit({ id, settled });
    if (!settled) throw new CommandFailed("settled", `Request ${id} is ${state} already`);
    terminal.print(`${id} is ${status}. The app's handlers run, now or once it is started.`);
  });
}

async function withReports(
  terminal: Terminal,
  options: InboxSource,
  work: (reports: StoredReports, inbox: Inbox) => Promise<void>,
): Promise<void> {
  const { receiver = usualReceiver } = options;
  await withInbox(terminal, options, "Reading the inbox", async (inbox) => {
    if (inbox.requests === undefined) {
      throw new CommandFailed("no_requests", "This inbox keeps no requests: only SQLite and Redis");
    }
    await work(storedReports({ inbox, name: receiver, clock: systemClock }), inbox);
  });
}

/** The request with this id, or the only one whose id begins so. */
async function findRequest(reports: StoredReports, given: string): Promise<RequestRecord> {
  const exact = await reports.get(given);
  if (exact !== null) return exact;
  const [first, second] = await reports.list({ after: given, limit: 2 });
  if (first === undefined || !first.id.startsWith(given)) {
    throw new CommandFailed("not_found", `No request with the id ${given}`);
  }
  if (second?.id.startsWith(given) !== true) return first;
  throw new UsageError(`Several requests begin with ${given}: give more of the id`);
}

function bodyOf(given: string): object {
  try {
    const value: unknown = JSON.parse(
      given.startsWith("@") ? readFileSync(given.slice(1), "utf8") : given,
    );
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {}
  throw new UsageError("--body must be a JSON object, or @ and a file with one");
}

function requestTable(requests: readonly RequestRecord[], terminal: Terminal): string[] {
  const now = Date.now();
  const columns: readonly Column<RequestRecord>[] = [
    { title: "ID", of: ({ id }) => id },
    { title: "AGE", of: ({ requestedAt }) => duration(now - requestedAt.getTime()) },
    { title: "STATE", of: ({ state }) => state },
    { title: "DUE", of: (request) => dueText(request, now) },
    { title: "REPORT", of: ({ reportId }) => reportId ?? "", shrinks: true },
    { title: "KEY", of: ({ idempotencyKey }) => idempotencyKey ?? "", shrinks: true },
    { title: "CONTEXT", of: ({ context }) => textOf(context) ?? "", shrinks: true },
  ];
  return table(columns, requests, terminal).map((line, index) =>
    index === 0 ? terminal.paint("dim", line) : line,
  );
}

function dueText({ settledAt, overdueAt, dueAt }: RequestRecord, now: number): string {
  if (settledAt !== null) return "";
  const ms = dueAt.getTime() - now;
  if (overdueAt !== null || ms <= 0) return `overdue ${duration(Math.max(0, -ms))}`;
  return `in ${duration(ms)}`;
}

function requestLines(request: RequestRecord, terminal: Terminal): string[] {
  const { report, answer, context, idempotencyKey, reportId, ...rest } = request;
  const time = (date: Date | null): string | null => date?.toISOString() ?? null;
  return pairs(
    [
      ["request", rest.id],
      ["state", rest.state],
      ["key", idempotencyKey],
      ["report", reportId],
      ["context", textOf(context)],
      ["asked for", JSON.stringify(report)],
      ["answer", answer === null ? null : JSON.stringify(answer)],
      ["requested", time(rest.requestedAt)],
      ["confirmed", time(rest.confirmedAt)],
      ["processing", time(rest.processingAt)],
      ["settled", time(rest.settledAt)],
      ["due", time(rest.dueAt)],
      ["overdue told", time(rest.overdueAt)],
    ],
    terminal,
  );
}

function textOf(context: unknown): string | null {
  return context === null ? null : JSON.stringify(context);
}
