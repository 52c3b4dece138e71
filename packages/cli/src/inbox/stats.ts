import { realpathSync } from "node:fs";
import type { ErrorGroup, Inbox, State } from "@reporthook/core";
import { inWords, Lookout, toolView } from "@reporthook/core/store";
import type { Command } from "commander";
import { type Column, hang, pairs, table } from "../lib/layout.ts";
import { limitOption, receiverOption } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { retriedStates } from "./actions.ts";
import { stateOption } from "./find.ts";
import { kindsOf } from "./many.ts";
import {
  addInboxCommand,
  commandLine,
  fileSize,
  type InboxSource,
  namesIn,
  warnOfOthers,
  withInbox,
} from "./source.ts";

const maxGroups = 5;

/** Adds `inbox stats`, which tells what is wrong, counts deliveries by state and reason, and names the processes on the inbox. */
export function addStats(group: Command, terminal: Terminal): void {
  addInboxCommand(group, "stats", "Count deliveries by state, and parked ones by reason.", {
    "for a script": "reporthook inbox stats --json --db inbox.db",
  })
    .addOption(receiverOption())
    .action((options: InboxSource) =>
      withInbox(terminal, options, "Counting", async (inbox, source) => {
        const stats = await statsOf(inbox, source);
        const { failure, ...shown } = stats;
        // It may accept no more, and still be read.
        if (failure !== undefined) terminal.tell(terminal.clean(failure));
        const errors = terminal.json ? [] : await inbox.errors({ receiver: source.receiver });
        terminal.emit(shown, [
          ...shown.problems.flatMap((problem) => problemLines(problem, source, terminal)),
          ...errors.slice(0, maxGroups).flatMap(({ count, text, error }, index) => {
            const lead = (index === 0 ? "Errors:" : "").padEnd(13);
            return hang(lead, `${count} × ${text} (--error ${error})`, terminal);
          }),
          ...pairs(numbersOf(stats), terminal),
        ]);
        await warnOfOthers(terminal, inbox, source);
      }),
    );
}

type Stats = Awaited<ReturnType<typeof statsOf>>;

const services = ["refused", "unreachable", "failing", "ok", "unknown"] as const;

/** Looks at receivers: their problems, the worst first, and the worst of their numbers. */
async function statsOf(inbox: Inbox, { receiver, db }: InboxSource) {
  const seen = await Promise.all(
    (await namesIn(inbox, receiver)).map(async (name) => {
      const lookout = new Lookout(toolView(inbox, name));
      await lookout.looked();
      const health = await lookout.health();
      const problems = health.problems.map((problem) => ({ receiver: name, ...problem }));
      const processes = lookout.processes.map((one) => ({ receiver: name, ...one }));
      return { ...health, problems, processes };
    }),
  );
  const problems = seen.flatMap((one) => one.problems);
  const newest = largest(seen.map((one) => one.newest?.getTime() ?? null));
  const now = new Date();
  // In all, not by minute.
  const { parked } = await inbox.summary({ receiver, from: now, until: now });
  return {
    problems: problems.sort(({ severity }, { severity: of }) => severity.localeCompare(of)),
    counts: await inbox.counts(receiver),
    reasons: parked,
    oldestWaitingMs: largest(seen.map((one) => one.oldestWaitingMs)),
    newest: newest === null ? null : new Date(newest),
    service: services.find((each) => seen.some(({ service }) => service === each)) ?? "unknown",
    // With its WAL; null for queues.
    bytes: db === undefined ? null : fileSize(db) + fileSize(`${realpathSync(db)}-wal`),
    processes: seen.flatMap((one) => one.processes),
    failure: seen.find((one) => !one.inbox.ok)?.inbox.error,
  };
}

function largest(of: readonly (number | null)[]): number | null {
  const known = of.filter((one) => one !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** A problem, with the command that shows it. */
function problemLines(
  problem: Stats["problems"][number],
  { receiver: _, ...where }: InboxSource,
  terminal: Terminal,
): string[] {
  const { receiver, severity, code, since, text, command } = problem;
  const age = inWords(Date.now() - since.getTime());
  const told = `${code}, for ${age}: ${receiver}: ${terminal.clean(text)}`;
  const style = severity === "critical" ? "red" : "yellow";
  const lines = hang(`${severity}: `, told, terminal).map((line) => terminal.paint(style, line));
  if (command === null) return lines;
  const look = command.replace("npx reporthook ", "");
  return [...lines, commandLine(look, where, terminal, "Look")];
}

function numbersOf(stats: Stats): (readonly [string, string | null])[] {
  const { counts, reasons, oldestWaitingMs, newest, service, processes, bytes, failure } = stats;
  const alive = processes.filter(({ state }) => state !== "ended");
  const told = alive.length > 0 ? alive : processes;
  const gone = alive.length > 0 ? "gives a sign of life" : "runs";
  const none = `none ${gone}: nothing is verified or handled until the app runs (and calls start(), with autostart: false)`;
  const isIdle = failure === undefined && !alive.some(({ state }) => state === "running");
  const because = Object.entries(reasons).map(([code, count]) => `${count} ${code}`);
  return [
    ...Object.entries(counts).map(([state, count]) => [state, String(count)] as const),
    ["parked", because.length === 0 ? "0" : because.join(", ")],
    ["oldest waiting", oldestWaitingMs === null ? "none" : inWords(oldestWaitingMs)],
    ["newest", newest === null ? "none" : newest.toISOString()],
    ["service", service],
    ["process", isIdle ? none : null],
    ...told.map(({ receiver, host, pid, version, since, seenAt, state }) => {
      const ago = inWords(Date.now() - seenAt.getTime());
      const text = `${pid} on ${host}, version ${version}, for ${receiver} since ${since.toISOString()}, ${state}, last sign of life ${ago} ago`;
      return ["process", text] as const;
    }),
    ["file", bytes === null ? null : `${(bytes / 1_048_576).toFixed(1)} MiB`],
  ];
}

/** The columns of a list of groups of errors. */
export const errorColumns: readonly Column<ErrorGroup>[] = [
  { title: "KEY", of: ({ error }) => error },
  { title: "DELIVERIES", of: ({ count }) => String(count) },
  { title: "OLDEST", of: ({ oldest }) => inWords(Date.now() - oldest.getTime()) },
  { title: "NEWEST", of: ({ newest }) => inWords(Date.now() - newest.getTime()) },
  { title: "REASONS", of: ({ reasons }) => kindsOf(reasons), shrinks: "beginning" },
  { title: "ERROR", of: ({ text }) => text, shrinks: "beginning" },
];

interface ErrorsOptions extends InboxSource {
  readonly state?: State | "parked";
  readonly limit: number;
}

/** Adds `inbox errors`, which prints a line for each group of equal errors, and the commands for the largest. */
export function addErrors(group: Command, terminal: Terminal): void {
  const what = "Group parked deliveries by their error, the most frequent first.";
  addInboxCommand(group, "errors", what, {
    "the three most frequent": "reporthook inbox errors --limit 3 --db inbox.db",
    "run all of one, once it is fixed": "reporthook inbox release --error 0a1b2c3d",
  })
    .addOption(stateOption("only this state (default: parked)"))
    .addOption(limitOption(1_000))
    .addOption(receiverOption())
    .action((given: ErrorsOptions) =>
      withInbox(terminal, given, "Grouping errors", async (inbox, options) => {
        const { limit, state, receiver } = options;
        const errors = (await inbox.errors({ receiver, state })).slice(0, limit);
        terminal.emit({ errors }, table(errorColumns, errors, terminal));
        const [most] = errors;
        if (most === undefined || terminal.json) return;
        const { error } = most;
        const those = `--error ${error}${state === undefined ? "" : ` --state ${state}`}`;
        terminal.tell(commandLine(`inbox list ${those}`, options, terminal, "Look"));
        const act = retriedStates.some((each) => each === state) ? "retry" : "release";
        // An act is for one receiver.
        for (const name of await namesIn(inbox, receiver)) {
          const query = { receiver: name, error, state: state ?? "parked", limit: 1 };
          if ((await inbox.list(query)).length === 0) continue;
          const source = { ...options, receiver: name };
          terminal.tell(commandLine(`inbox ${act} ${those}`, source, terminal, "Once fixed"));
        }
      }),
    );
}
