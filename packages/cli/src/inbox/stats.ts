import { realpathSync } from "node:fs";
import type { Counts, ErrorGroup, Inbox, Problem, State } from "@reporthook/core";
import { inWords, Lookout, systemClock } from "@reporthook/core/store";
import type { Command } from "commander";
import { type Column, hang, pairs, table } from "../lib/layout.ts";
import { limitOption, receiverOption } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";
import { retriedStates } from "./actions.ts";
import { stateOption } from "./filters.ts";
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

/** Adds `inbox stats`, which tells what is wrong, counts deliveries by state and reason, and names the processes on the inbox. */
export function addStats(group: Command, terminal: Terminal): void {
  addInboxCommand(group, "stats", "Count deliveries by state, and parked ones by reason.", {
    "for a script": "reporthook inbox stats --json --db inbox.db",
  })
    .addOption(receiverOption())
    .action((options: InboxSource) => stats(terminal, options));
}

async function stats(terminal: Terminal, options: InboxSource): Promise<void> {
  const { receiver } = options;
  await withInbox(terminal, options, "Counting", async (inbox, source) => {
    const judged = await judge(inbox, await namesIn(inbox, receiver));
    const { problems, processes, failure, ...waiting } = judged;
    // It may accept no more, and still be read.
    if (failure !== undefined) terminal.tell(terminal.clean(failure));
    const counts = await inbox.counts(receiver);
    const now = new Date();
    // In all, not by minute.
    const { parked: reasons } = await inbox.summary({ receiver, from: now, until: now });
    const numbers = { counts, reasons, ...waiting, bytes: bytesOf(source) };
    const errors = terminal.json ? [] : await inbox.errors({ receiver });
    terminal.emit({ problems, ...numbers, processes }, [
      ...problemLines(problems, source, terminal),
      ...errorLines(errors, terminal),
      ...statsLines({ ...numbers, processes, failure }, terminal),
    ]);
    await warnOfOthers(terminal, inbox, source, receiver);
  });
}

const severities: readonly Problem["severity"][] = ["critical", "warning"];
const services = ["refused", "unreachable", "failing", "ok", "unknown"] as const;

/** Looks at receivers: their problems, the worst first, and the worst of their numbers. */
async function judge(inbox: Inbox, names: readonly string[]) {
  const seen = await Promise.all(
    names.map(async (receiver) => {
      const lookout = new Lookout({ inbox, name: receiver, clock: systemClock });
      await lookout.looked();
      const health = await lookout.health();
      const problems = health.problems.map((problem) => ({ receiver, ...problem }));
      const processes = lookout.processes.map((one) => ({ receiver, ...one }));
      return { ...health, problems, processes };
    }),
  );
  const problems = seen.flatMap((one) => one.problems);
  const newest = largest(seen.map((one) => one.newest?.getTime() ?? null));
  return {
    problems: severities.flatMap((each) => problems.filter(({ severity }) => severity === each)),
    processes: seen.flatMap((one) => one.processes),
    failure: seen.find((one) => !one.inbox.ok)?.inbox.error,
    oldestWaitingMs: largest(seen.map((one) => one.oldestWaitingMs)),
    newest: newest === null ? null : new Date(newest),
    service: services.find((each) => seen.some(({ service }) => service === each)) ?? "unknown",
  };
}

function largest(of: readonly (number | null)[]): number | null {
  const known = of.filter((one) => one !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** Size of the file and its WAL; null for queues. */
function bytesOf({ db }: InboxSource): number | null {
  return db === undefined ? null : fileSize(db) + fileSize(`${realpathSync(db)}-wal`);
}

/** The problems, each with the command that shows it. */
function problemLines(
  problems: readonly (Problem & { readonly receiver: string })[],
  { receiver: _, ...source }: InboxSource,
  terminal: Terminal,
): string[] {
  const now = Date.now();
  return problems.flatMap(({ receiver, severity, code, since, text, command }) => {
    const style = severity === "critical" ? "red" : "yellow";
    const lead = `${severity}: `;
    const told = `${code}, for ${inWords(now - since.getTime())}: ${receiver}: ${terminal.clean(text)}`;
    const lines = hang(lead, told, terminal).map((line) => terminal.paint(style, line));
    if (command === null) return lines;
    const look = command.replace("npx reporthook ", "");
    return [...lines, commandLine(look, source, terminal, "Look")];
  });
}

const maxGroups = 5;

/** The largest groups of errors, a line each. */
function errorLines(groups: readonly ErrorGroup[], terminal: Terminal): string[] {
  return groups.slice(0, maxGroups).flatMap(({ count, text, error }, index) => {
    const lead = (index === 0 ? "Errors:" : "").padEnd(13);
    return hang(lead, `${count} × ${text} (--error ${error})`, terminal);
  });
}

interface Stats extends Omit<Awaited<ReturnType<typeof judge>>, "problems"> {
  readonly counts: Counts;
  readonly reasons: Readonly<Record<string, number>>;
  readonly bytes: number | null;
}

function statsLines(stats: Stats, terminal: Terminal): string[] {
  const { counts, reasons, oldestWaitingMs, newest, service, processes, bytes, failure } = stats;
  const now = Date.now();
  const states = processes.map(({ state }) => state);
  const gone = states.includes("silent") ? "gives a sign of life" : "runs";
  const none = `none ${gone}: nothing is verified or handled until the app runs`;
  const isIdle = failure === undefined && !states.includes("running");
  const because = Object.entries(reasons).map(([code, count]) => `${count} ${code}`);
  const numbers = Object.entries(counts).map(([state, count]) => [state, String(count)] as const);
  return pairs(
    [
      ...numbers,
      ["parked", because.length === 0 ? "0" : because.join(", ")],
      ["oldest waiting", oldestWaitingMs === null ? "none" : inWords(oldestWaitingMs)],
      ["newest", newest === null ? "none" : newest.toISOString()],
      ["service", service],
      ["process", isIdle ? none : null],
      ...processes.map((one) => ["process", processText(one, now)] as const),
      ["file", bytes === null ? null : `${(bytes / 1_048_576).toFixed(1)} MiB`],
    ],
    terminal,
  );
}

function processText({ receiver, ...one }: Stats["processes"][number], now: number): string {
  const { host, pid, version, since, seenAt, state } = one;
  const ago = inWords(now - seenAt.getTime());
  return `${pid} on ${host}, version ${version}, for ${receiver} since ${since.toISOString()}, ${state}, last sign of life ${ago} ago`;
}

interface ErrorsOptions extends InboxSource {
  readonly state?: State | "parked";
  readonly limit: number;
}

const errorColumns: readonly Column<ErrorGroup>[] = [
  { title: "KEY", of: ({ error }) => error },
  { title: "DELIVERIES", of: ({ count }) => String(count) },
  { title: "OLDEST", of: ({ oldest }) => oldest.toISOString() },
  { title: "NEWEST", of: ({ newest }) => newest.toISOString() },
  { title: "REASONS", of: ({ reasons }) => kindsOf(reasons), shrinks: true },
  { title: "ERROR", of: ({ text }) => text, shrinks: true },
];

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
        const [largest] = errors;
        if (largest === undefined || terminal.json) return;
        const { error } = largest;
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
