import { readFileSync } from "node:fs";
import type { RequestRecord } from "@reporthook/core";
import {
  ifNotSearchable,
  inWords,
  requestRecordOf,
  requestStates,
  storedReports,
  toolView,
} from "@reporthook/core/store";
import { Argument, type Command } from "commander";
import { findRequest, findRequestId, requestsOf } from "../inbox/find.ts";
import {
  addInboxCommand,
  emitPage,
  type InboxSource,
  warnOfOthers,
  withInbox,
} from "../inbox/source.ts";
import { entryColumns } from "../inbox/view.ts";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { objectIn } from "../lib/exchange.ts";
import { type Column, pairs, table } from "../lib/layout.ts";
import {
  choiceOption,
  type Examples,
  limitOption,
  oneOf,
  receiverOption,
  text,
  withExamples,
} from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

const states = [...requestStates, "overdue"] as const;
const finals = ["complete", "internal_error"] as const;
const overdue: Examples = { "those that never came": "reporthook reports list --state overdue" };
const shown: Examples = { "one in full": "reporthook reports show 01m7qk2v --db inbox.db" };
const settled: Examples = {
  "it was found by other means":
    'reporthook reports settle 01m7qk2v complete --body \'{"report_id":"r-4711"}\'',
};

const requestColumns: readonly Column<RequestRecord>[] = [
  { title: "ID", of: ({ id }) => id },
  { title: "AGE", of: ({ requestedAt }) => inWords(Date.now() - requestedAt.getTime()) },
  { title: "STATE", of: ({ state }) => state },
  { title: "DUE", of: dueText },
  { title: "REPORT", of: ({ reportId }) => reportId ?? "", shrinks: "beginning" },
  { title: "KEY", of: ({ idempotencyKey }) => idempotencyKey ?? "", shrinks: "beginning" },
  { title: "CONTEXT", of: ({ context }) => textOf(context) ?? "", shrinks: "beginning" },
];

interface ListOptions extends InboxSource {
  readonly state?: (typeof states)[number];
  readonly limit: number;
  readonly after?: string;
}

interface SettleOptions extends InboxSource {
  readonly body?: object;
}

/** Adds `reports …`, which also works while the app runs. */
export function addReports(program: Command, terminal: Terminal): void {
  const group = program
    .command("reports")
    .summary("follow the reports that were asked for")
    .description("Follow the reports that an app asked for with receiver.reports.")
    .helpCommand(false);
  const add = (usage: string, what: string, examples: Examples): Command =>
    addInboxCommand(group, usage, what, examples).addOption(
      receiverOption("only requests of this receiver"),
    );
  add("list", "List requests, oldest first.", overdue)
    .addOption(choiceOption("--state <state>", "only this state", states))
    .addOption(limitOption(10_000))
    .option("--after <id>", "only requests after this one", text)
    .action((given: ListOptions) =>
      withInbox(terminal, given, "Reading the inbox", async (inbox, options) => {
        const { receiver, state, limit } = options;
        const after = options.after && (await findRequestId(inbox, options.after, receiver));
        const found = await requestsOf(inbox).list({ receiver, state, limit: limit + 1, after });
        emitPage(terminal, "requests", found.map(requestRecordOf), limit, requestColumns);
        if (found.length === 0) await warnOfOthers(terminal, inbox, options);
      }),
    );
  add("show <id>", "Show a request in full, with its deliveries.", shown).action(
    (given: string, options: InboxSource) =>
      withInbox(terminal, options, "Reading the inbox", async (inbox) => {
        const found = await findRequest(inbox, given, options.receiver);
        const request = requestRecordOf(found);
        const deliveries = await inbox
          .list({ receiver: found.receiver, requestId: found.id, limit: 1_000 })
          .catch(ifNotSearchable);
        const rest = deliveries?.length ? ["", ...table(entryColumns, deliveries, terminal)] : [];
        terminal.emit({ ...request, deliveries }, [...requestLines(request, terminal), ...rest]);
      }),
  );
  add("settle <id>", "Tell a final status that no notification brought.", settled)
    .addArgument(new Argument("<status>", "its status").choices(finals).argParser(oneOf(finals)))
    .option("--body <json>", "the body of the event: a JSON object, or @ and a file", bodyIn)
    .action(
      (given: string, status: (typeof finals)[number], { body = {}, ...source }: SettleOptions) =>
        withInbox(terminal, source, "Reading the inbox", async (inbox) => {
          const request = await findRequest(inbox, given, source.receiver);
          const { id, receiver: name, state } = request;
          const reports = storedReports(toolView(inbox, name));
          const settled = await reports.settle(id, status, { body });
          const what = request.isErased
            ? "It was erased: no handler runs."
            : "The app's handlers run, now or once it is started, unless a schema refuses the body.";
          const text = `${id} is ${status}. ${what}`;
          if (settled) return terminal.emit({ id, settled }, text);
          throw new CommandFailed("settled", `Request ${id} is ${state} already`, { id, settled });
        }),
    );
  withExamples(group, { ...overdue, ...shown, ...settled });
}

function bodyIn(given: string): object {
  try {
    const body = objectIn(given.startsWith("@") ? readFileSync(given.slice(1), "utf8") : given);
    if (body !== null) return body;
  } catch {}
  throw new UsageError("--body must be a JSON object, or @ and a file with one");
}

function dueText({ settledAt, overdueAt, dueAt }: RequestRecord): string {
  if (settledAt !== null) return "";
  const ms = dueAt.getTime() - Date.now();
  return overdueAt !== null || ms <= 0 ? `overdue ${inWords(-ms)}` : `in ${inWords(ms)}`;
}

function requestLines(request: RequestRecord, terminal: Terminal): string[] {
  const { id, state, report, answer, context, idempotencyKey, reportId, ...dates } = request;
  return pairs(
    [
      ["request", id],
      ["state", state],
      ["key", idempotencyKey],
      ["report", reportId],
      ["context", textOf(context)],
      ["asked for", textOf(report)],
      ["answer", textOf(answer)],
      ...Object.entries(dates).map(
        ([name, date]) => [name.replace("At", ""), date?.toISOString() ?? null] as const,
      ),
    ],
    terminal,
  );
}

function textOf(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
