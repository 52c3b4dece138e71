import { mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type Inbox, memoryInbox } from "@reporthook/core";

/** The inboxes that are measured. */
export type InboxName = "memory" | "sqlite" | "redis" | "postgres";

/** Those that need no server, and whose package is there. */
export function inboxesHere(): InboxName[] {
  try {
    createRequire(import.meta.url).resolve("@reporthook/sqlite");
    return ["memory", "sqlite"];
  } catch {
    return ["memory"];
  }
}

/** A new folder for what a run stores: under `REPORTHOOK_BENCH_DATA`, or where the system keeps what is temporary. */
export function newFolder(): string {
  return mkdtempSync(join(process.env["REPORTHOOK_BENCH_DATA"] ?? tmpdir(), "reporthook-bench-"));
}

/** An empty inbox; a durable one keeps its data in `folder`. */
export async function openInbox(name: InboxName, folder: string): Promise<Inbox> {
  if (name === "memory") return memoryInbox({ maxBytes: 2 ** 32 });
  if (name === "redis" || name === "postgres")
    return openQueues(name, basename(folder).replaceAll("-", "_"));
  const from: string = "@reporthook/sqlite";
  const { sqliteInbox } = (await import(from)) as { sqliteInbox(path: string): Inbox };
  const inbox = sqliteInbox(join(folder, "inbox.db"));
  await inbox.open();
  return inbox;
}

/** The queues of one folder's name are one inbox: several processes may open it. */
async function openQueues(engine: "redis" | "postgres", name: string): Promise<Inbox> {
  const from: string = "@reporthook/bullmq";
  const { bullmqInbox } = (await import(from)) as {
    bullmqInbox(options: { connection: string; prefix: string; logger: false }): Inbox;
  };
  const connection = process.env[`BENCH_${engine}`] ?? "";
  const inbox = bullmqInbox({ connection, prefix: name, logger: false });
  await inbox.open();
  return inbox;
}
