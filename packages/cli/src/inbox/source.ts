import { statSync } from "node:fs";
import type { Counts, Inbox } from "@reporthook/core";
import { LivedClock, systemClock, Timekeeper } from "@reporthook/core/store";
import { sqliteInbox } from "@reporthook/sqlite";
import type { Command } from "commander";
import { playgroundFile } from "../lib/environment.ts";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";

/** The inbox of a command: a file, or the queues at a URL. */
export interface InboxSource {
  readonly db?: string;
  readonly inbox?: string;
  readonly prefix?: string;
}

/** The default files, in this folder. */
const usualFiles = ["inbox.db", playgroundFile];

/** Adds the options for an inbox. */
export function withInboxSource(command: Command): Command {
  return command
    .option("--db <file>", `the app's inbox file (default: ${usualFiles.join(", else ")})`)
    .option(
      "--inbox <url>",
      "the app's queues: redis://…, rediss://…, postgres://… or postgresql://… (or REPORTS_INBOX)",
    )
    .option("--prefix <name>", "prefix of the queue names, if the app sets one");
}

/** The inbox's name in messages, without password. */
export function nameOf({ db, inbox = fromEnvironment() }: InboxSource): string {
  if (db !== undefined || inbox === undefined) return db ?? "";
  const { protocol, host, pathname } = new URL(inbox);
  return `${protocol}//${host}${pathname}`;
}

/** Completes the source with the first default file that exists, and prints its name, if no inbox is named. */
export function sourceMeant(terminal: Terminal, source: InboxSource): InboxSource {
  if ((source.db ?? source.inbox ?? fromEnvironment()) !== undefined) return source;
  const db = usualFiles.find((file) => fileSize(file) > 0);
  if (db === undefined) {
    const looked = usualFiles.join(" nor ");
    throw new UsageError(
      `Name the inbox, either --db <file> or --inbox <url>: there is neither ${looked} here`,
    );
  }
  terminal.tell(`The inbox is ${db}.`);
  return { ...source, db };
}

/** Treats an empty variable as missing. */
function fromEnvironment(): string | undefined {
  return process.env["REPORTS_INBOX"] || undefined;
}

/**
 * Opens an existing inbox, even if it accepts no more deliveries. It creates no file and does not change its version.
 *
 * @throws UsageError if none or two are named; Failure `no_inbox` if it does not exist, `not_installed` if its package is
 * missing; ReporthookError `inbox_failed` if it can't be opened
 */
export async function openInbox(source: InboxSource): Promise<Inbox> {
  const inbox = await made(source);
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

/** The time that an inbox has lived through: its deliveries are due and kept by it, not by the wall clock. */
export async function livedTimeOf(inbox: Inbox): Promise<Timekeeper> {
  const time = new Timekeeper(new LivedClock(systemClock), inbox);
  await time.join();
  return time;
}

async function made({ db, prefix, ...named }: InboxSource): Promise<Inbox> {
  const inbox = named.inbox ?? (db === undefined ? fromEnvironment() : undefined);
  if ((db === undefined) === (inbox === undefined)) {
    throw new UsageError("Name the inbox: either --db <file> or --inbox <url>");
  }
  if (inbox !== undefined) {
    // Not quoted: it may contain a password.
    if (!/^(rediss?|postgres(ql)?):\/\//.test(inbox) || !URL.canParse(inbox)) {
      throw new UsageError(
        `${named.inbox === undefined ? "REPORTS_INBOX" : "--inbox"} must be a URL that begins with redis://, rediss://, postgres:// or postgresql://`,
      );
    }
    const bullmqInbox = await loadBullmq();
    const begins = prefix === undefined ? {} : { prefix };
    const isRedis = inbox.startsWith("redis");
    const connection = isRedis ? inbox : { connectionString: inbox, migrate: false };
    try {
      return bullmqInbox({ connection, logger: false, ...begins });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw new UsageError(error.message.replace("bullmqInbox: ", "--"));
    }
  }
  if (db === undefined || db === "" || fileSize(db) === 0) {
    throw new CommandFailed(
      "no_inbox",
      `${db === "" ? "--db names no file" : `There is no inbox ${db}`}: name the file that the app opens with sqliteInbox`,
    );
  }
  return sqliteInbox(db, { migrate: false });
}

async function loadBullmq(): Promise<typeof import("@reporthook/bullmq").bullmqInbox> {
  try {
    return (await import("@reporthook/bullmq")).bullmqInbox;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new CommandFailed(
      "not_installed",
      "--inbox needs packages: npm install @reporthook/bullmq bullmq, and ioredis for Redis or pg for PostgreSQL",
    );
  }
}

/** Work on an inbox from a source. */
export type InboxWork = (inbox: Inbox, source: InboxSource) => Promise<void>;

/** Opens an existing inbox, runs work on it, and closes it. */
export async function withInbox(
  terminal: Terminal,
  given: InboxSource,
  what: string,
  work: InboxWork,
): Promise<void> {
  const source = sourceMeant(terminal, given);
  await terminal.during(what, () => openedFor(work, source));
}

/** Does the same as {@link withInbox}, for work that shows its own progress. */
export async function withOpenInbox(
  terminal: Terminal,
  given: InboxSource,
  work: InboxWork,
): Promise<void> {
  await openedFor(work, sourceMeant(terminal, given));
}

async function openedFor(work: InboxWork, source: InboxSource): Promise<void> {
  const inbox = await openInbox(source);
  try {
    await work(inbox, source);
  } finally {
    await inbox.close();
  }
}

/** The failure for an unknown id. */
export function noSuch(id: string, source: InboxSource): CommandFailed {
  return new CommandFailed(
    "not_found",
    `${nameOf(source)} has no delivery ${id}: inbox list shows the deliveries`,
  );
}

/** Warns if the inbox has deliveries, but none of this receiver. */
export async function warnOfOthers(
  terminal: Terminal,
  inbox: Inbox,
  source: InboxSource,
  receiver: string,
): Promise<void> {
  if (terminal.json) return;
  const total = (counts: Counts): number =>
    Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (total(await inbox.counts(receiver)) > 0 || total(await inbox.counts()) === 0) return;
  const text = `${nameOf(source)} has no deliveries of receiver ${receiver}: name the app's receiver with --receiver`;
  terminal.tell(terminal.clean(text));
}

/** Tells how many deliveries of the kind that a command is about belong to other receivers than its own. */
export function tellOfOthers(terminal: Terminal, count: number): void {
  if (count > 0) terminal.tell(`Of other receivers: ${count}; name one with --receiver.`);
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
    throw new CommandFailed(
      "no_inbox",
      `${file} can't be accessed (${code}): name another file, or run this as a user who can read and write it`,
    );
  }
}
