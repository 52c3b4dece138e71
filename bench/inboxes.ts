import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type Inbox, memoryInbox } from "@reporthook/core";

/** The engines of BullMQ. */
export type EngineName = "redis" | "postgres";

/** The inboxes that are measured. */
export type InboxName = "memory" | "sqlite" | EngineName;

/** Where an engine is that a parent has started. */
export function urlOf(engine: EngineName): string {
  return process.env[`BENCH_${engine}`] ?? "";
}

/** The id of its process. */
export function pidOf(engine: EngineName): number {
  return Number(process.env[`BENCH_${engine}_pid`]);
}

/** Says where an engine is, to this process and its children. */
export function announce(engine: EngineName, url: string, pid: number): void {
  process.env[`BENCH_${engine}`] = url;
  process.env[`BENCH_${engine}_pid`] = String(pid);
}

/** A new folder for what a run stores: under `REPORTHOOK_BENCH_DATA`, or where the system keeps what is temporary. */
export function newFolder(): string {
  return mkdtempSync(join(process.env["REPORTHOOK_BENCH_DATA"] ?? tmpdir(), "reporthook-bench-"));
}

/** How many wait in an inbox; a checkout to compare with may be from before `load` was called `backlog`. */
export function waitingIn(inbox: Inbox, receiver: string): number {
  const { load } = inbox as { readonly load?: Inbox["backlog"] };
  return (load?.call(inbox, receiver) ?? inbox.backlog(receiver)).waiting;
}

/** An inbox; one that is durable keeps its data in `folder`, or in queues of its name: several processes may open it. */
export async function openInbox(name: InboxName, folder: string): Promise<Inbox> {
  const inbox = await make(name, folder);
  await inbox.open();
  return inbox;
}

async function make(name: InboxName, folder: string): Promise<Inbox> {
  if (name === "memory") return memoryInbox({ maxBytes: 2 ** 32 });
  // Loaded where it is measured only.
  if (name === "sqlite") {
    const { sqliteInbox } = await import("@reporthook/sqlite");
    return sqliteInbox(join(folder, "inbox.db"));
  }
  const { bullmqInbox } = await import("@reporthook/bullmq");
  const prefix = basename(folder).replaceAll("-", "_");
  return bullmqInbox({ connection: urlOf(name), prefix, logger: false });
}
