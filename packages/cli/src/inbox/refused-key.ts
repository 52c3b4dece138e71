import type { Inbox } from "@reporthook/core";
import { isKeyRefused } from "@reporthook/core/store";
import { duration, hang } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import { commandLines, type Named } from "./next-steps.ts";

const lookedAt = 20;

/**
 * How long deliveries that wait for the right API key wait at most until the service is asked again, in milliseconds; null if
 * none does. It looks at the newest and the oldest.
 */
export async function refusedWaitMs(
  inbox: Inbox,
  receiver: string | undefined,
): Promise<number | null> {
  const query = { state: "received", receiver, limit: lookedAt } as const;
  const newest = (await inbox.list({ ...query, newestFirst: true })).filter(isKeyRefused);
  if (newest.length === 0) return null;
  const oldest = (await inbox.list(query)).filter(isKeyRefused);
  const now = Date.now();
  const waits = [...newest, ...oldest].map(({ nextAttemptAt }) => Number(nextAttemptAt) - now);
  return Math.max(0, ...waits);
}

/** Prints that the service refuses the API key, and when and how the service is asked again. */
export function printRefusedKey(
  terminal: Terminal,
  { waiting, waitMs }: { readonly waiting: number; readonly waitMs: number },
  source: Named,
): void {
  const wait = waiting === 1 ? "1 delivery waits" : `${waiting} deliveries wait`;
  const isSoon = waitMs < 1_000;
  const when = isSoon ? "at once" : `within ${duration(waitMs)}`;
  const text = `The service refuses the API key: ${wait}, and nothing is verified until the app has the right key. Start it with that: it asks again ${when}.`;
  for (const line of hang("", text, terminal)) terminal.print(terminal.paint("red", line));
  if (isSoon) return;
  for (const line of commandLines([["Or at once", "retry --all"]], source, terminal)) {
    terminal.print(line);
  }
}
