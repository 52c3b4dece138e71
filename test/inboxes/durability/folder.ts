import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SqliteInboxOptions, sqliteInbox } from "@reporthook/sqlite";
import { onTestFinished } from "vitest";
import { type Served, serve } from "./serve.ts";

/** An empty folder until the test ends. */
export function makeFolder(): string {
  const folder = join(mkdtempSync(join(tmpdir(), "reporthook-durability-")), "data");
  mkdirSync(folder);
  onTestFinished(() => rmSync(join(folder, ".."), { recursive: true }));
  return folder;
}

/** Serves the inbox in a file until it is closed or the test ends. */
export async function serveFile(
  path: string,
  {
    options = {},
    ...rest
  }: { readonly options?: SqliteInboxOptions } & Parameters<typeof serve>[1] = {},
): Promise<Served> {
  const served = await serve(sqliteInbox(path, options), rest);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= served.close();
    return closed;
  };
  // The test itself checks a close that fails.
  onTestFinished(() => close().catch(() => {}));
  return { ...served, close };
}
