import { statSync } from "node:fs";
import type { Inbox } from "@reporthook/core";
import { type SqliteInboxOptions, sqliteInbox } from "@reporthook/sqlite";
import { Failure } from "./errors.ts";

/**
 * Opens an inbox that is there: neither makes a file nor changes its version.
 *
 * @throws Failure `no_inbox` when there is none; ReporthookError `inbox_failed` when it can't be opened
 */
export async function openInbox(
  db: string,
  options: Pick<SqliteInboxOptions, "retention"> = {},
): Promise<Inbox> {
  if (db === "" || sizeOf(db) === 0) {
    throw new Failure(
      "no_inbox",
      `${db === "" ? "--db names no file" : `There is no inbox ${db}`}: give the file that the app opens with sqliteInbox`,
    );
  }
  const inbox = sqliteInbox(db, { ...options, migrate: false });
  try {
    await inbox.open();
    return inbox;
  } catch (error) {
    await inbox.close();
    throw error;
  }
}

/** Bytes of a file; 0 when there is none. */
export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
