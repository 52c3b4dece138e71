import { statSync } from "node:fs";
import type { Inbox } from "@reporthook/core";
import { sumOf, Timekeeper } from "@reporthook/core/store";
import { sqliteInbox } from "@reporthook/sqlite";
import type { Command } from "commander";
import { appFile, playgroundFile, program } from "../lib/environment.ts";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { type Column, quoted, table } from "../lib/layout.ts";
import { type Examples, file, text, usualReceiver, withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

/** The inbox of a command as its options name it: a file, or the queues at a URL; and the receiver that is named. */
export interface InboxSource {
  readonly db?: string;
  readonly inbox?: string;
  readonly prefix?: string;
  readonly receiver?: string;
}

/** An inbox that was found: its file, or the URL of its queues. */
export interface FoundInbox extends InboxSource {
  readonly url?: string;
  /** For messages, without a password. */
  readonly name: string;
}

/** The default files, in this folder. */
const usualFiles = [appFile, playgroundFile];

/** Adds a command on an inbox to a group. */
export function addInboxCommand(
  group: Command,
  usage: string,
  what: string,
  examples: Examples,
): Command {
  const command = group
    .command(usage)
    .description(what)
    .option("--db <file>", `the app's inbox file (default: ${usualFiles.join(", else ")})`, file)
    .option(
      "--inbox <url>",
      "the app's queues: redis://…, rediss://…, postgres://… or postgresql://…; REPORTS_INBOX names either",
    )
    .option("--prefix <name>", "prefix of the queue names, if the app sets one", text);
  return withExamples(command, examples);
}

/** A command for a source, on two lines if it is long. A title comes before it. */
export function commandLine(
  line: string,
  { db, inbox, prefix, receiver }: InboxSource,
  terminal: Terminal,
  title: string = "",
): string {
  // A URL may contain a password, so it is not printed.
  const named = receiver === usualReceiver ? undefined : receiver;
  const where = Object.entries({ receiver: named, db, inbox: inbox && "URL", prefix })
    .flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${quoted(value)}`]))
    .join(" ");
  const lead = title === "" ? "" : `${title}:`.padEnd(13);
  const command = `${lead}${program()} ${line}`;
  const isLong = command.length + 1 + where.length > terminal.columns;
  return terminal.clean(`${command}${where && (isLong ? ` \\\n    ${where}` : ` ${where}`)}`);
}

/**
 * Finds the inbox: if no option names one, by REPORTS_INBOX or the first default file that exists, and prints which file that is.
 *
 * @throws UsageError if none or two are named, or for an invalid URL
 */
function find<Source extends InboxSource>(terminal: Terminal, source: Source): Source & FoundInbox {
  const { db, inbox } = source;
  if (db !== undefined && inbox !== undefined) {
    throw new UsageError("Name the inbox: either --db <file> or --inbox <url>");
  }
  if (db !== undefined) return { ...source, name: db };
  // An empty variable counts as missing.
  const named = inbox ?? (process.env["REPORTS_INBOX"] || usualFiles.find(isThere));
  if (named === undefined) {
    const looked = usualFiles.join(" nor ");
    throw new UsageError(
      `Name the inbox, either --db <file> or --inbox <url>: there is neither ${looked} here`,
    );
  }
  if (inbox !== undefined || named.includes("://")) {
    const { protocol, host, pathname } = urlOf(named, source);
    return { ...source, url: named, name: `${protocol}//${host}${pathname}` };
  }
  terminal.tell(`The inbox is ${named}.`);
  return { ...source, db: named, name: named };
}

/** Opens an existing inbox, runs work on it, and closes it; `progress` is shown meanwhile, null if the work shows its own. */
export async function withInbox<Source extends InboxSource>(
  terminal: Terminal,
  given: Source,
  progress: string | null,
  work: (inbox: Inbox, source: Source & FoundInbox) => Promise<void>,
): Promise<void> {
  const source = find(terminal, given);
  const inbox = await terminal.during("Opening the inbox", () => openInbox(source));
  try {
    const run = (): Promise<void> => work(inbox, source);
    await (progress === null ? run() : terminal.during(progress, run));
  } finally {
    await inbox.close();
  }
}

/**
 * Opens an existing inbox, even if it accepts no more deliveries. It creates no file and does not change its version.
 *
 * @throws CommandFailed `no_inbox` if it does not exist, `not_installed` if its package is missing; ReporthookError `inbox_failed`
 * if it can't be opened
 */
export async function openInbox({
  db = "",
  url,
  prefix,
}: Omit<FoundInbox, "name">): Promise<Inbox> {
  if (url === undefined && fileSize(db) === 0) {
    const why = isThere(db)
      ? `, but ${db}-damaged: the app has set it aside, as docs/operating.md says under When the inbox fails`
      : ": name the file that the app opens with sqliteInbox";
    throw new CommandFailed("no_inbox", `There is no inbox ${db}${why}`);
  }
  const inbox =
    url === undefined ? sqliteInbox(db, { migrate: false }) : await inboxAt(url, prefix);
  try {
    // open() would refuse a full server, which can still be read and pruned.
    if (inbox.guarantees.durability === "server") await inbox.counts();
    else await inbox.open();
    return inbox;
  } catch (error) {
    await inbox.close();
    throw error;
  }
}

function urlOf(url: string, { inbox }: InboxSource): URL {
  if (/^(rediss?|postgres(ql)?):\/\//.test(url) && URL.canParse(url)) return new URL(url);
  // Not quoted: it may contain a password.
  throw new UsageError(
    `${inbox === undefined ? "REPORTS_INBOX" : "--inbox"} must be a URL that begins with redis://, rediss://, postgres:// or postgresql://`,
  );
}

async function inboxAt(url: string, prefix: string | undefined): Promise<Inbox> {
  const { bullmqInbox } = await import("@reporthook/bullmq").catch((error) => {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message =
      "--inbox needs packages: npm install @reporthook/bullmq bullmq, and ioredis for Redis or pg for PostgreSQL";
    throw new CommandFailed("not_installed", message);
  });
  const connection = url.startsWith("redis") ? url : { connectionString: url, migrate: false };
  try {
    return bullmqInbox({ connection, logger: false, ...(prefix !== undefined && { prefix }) });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(error.message.replace("bullmqInbox: ", "--"));
  }
}

/** Prints a page of a list that was asked for one more than `limit`, and the id after which the next one begins. */
export function emitPage<Row extends { readonly id: string }>(
  terminal: Terminal,
  name: "entries" | "requests",
  found: readonly Row[],
  limit: number,
  columns: readonly Column<Row>[],
): void {
  const page = found.slice(0, limit);
  const next = found.length > limit ? (page.at(-1)?.id ?? null) : null;
  terminal.emit({ [name]: page, next }, table(columns, page, terminal));
  if (next !== null) terminal.tell(`More: --after ${next}`);
}

/** The receiver that is named, else all that have used the inbox. */
export async function namesIn(
  inbox: Inbox,
  receiver: string | undefined,
): Promise<readonly string[]> {
  if (receiver !== undefined) return [receiver];
  const names = (await inbox.receivers?.()) ?? [];
  return names.length === 0 ? [usualReceiver] : names;
}

/** The time that an inbox has lived through: its deliveries are due and kept by it, not by the wall clock. */
export async function livedTimeOf(inbox: Inbox): Promise<Timekeeper> {
  const time = new Timekeeper(inbox);
  await time.join();
  return time;
}

/** Warns if the inbox has deliveries, but none of the receiver that is named. */
export async function warnOfOthers(
  terminal: Terminal,
  inbox: Inbox,
  { receiver, name }: FoundInbox,
): Promise<void> {
  if (terminal.json || receiver === undefined) return;
  if (sumOf(await inbox.counts(receiver)) > 0 || sumOf(await inbox.counts()) === 0) return;
  const text = `${name} has no deliveries of receiver ${receiver}: name the app's receiver with --receiver`;
  terminal.tell(terminal.clean(text));
}

/**
 * The size of a file in bytes; 0 if it does not exist.
 *
 * @throws CommandFailed `no_inbox` if it can't be accessed
 */
export function fileSize(file: string): number {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = `${file} can't be accessed (${code}): name another file, or run this as a user who can read and write it`;
    throw new CommandFailed("no_inbox", message);
  }
}

/** Whether there is an inbox at a path, or an app has set it aside, as it is damaged. */
function isThere(file: string): boolean {
  return fileSize(file) > 0 || fileSize(`${file}-damaged`) > 0;
}
