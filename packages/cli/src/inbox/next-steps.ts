import type { Entry, Inbox, ReasonCode } from "@reporthook/core";
import { isKeyRefused, isParked } from "@reporthook/core/store";
import { program } from "../lib/environment.ts";
import { duration, hang, quoted } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { InboxSource } from "./source.ts";

/**
 * The reasons whose deliveries are released one at a time, and when, as docs/operating.md says. For any other reason all are
 * released together, once the release of one has shown that the cause is gone.
 */
export const releasedSingly: Readonly<Partial<Record<ReasonCode, string>>> = {
  unsigned: "If genuine",
  expired: "If genuine",
  not_verified: "If genuine",
  reused_signature: "If genuine",
  no_token: "If yours",
  poison: "Once fixed",
};

/** The next commands for the parked entries of the most frequent reason: look, release one, release all, delete. */
export function nextSteps(
  entries: readonly Entry[],
  source: InboxSource,
  terminal: Terminal,
): string[] {
  const [reason, alike] = mostFrequent(entries);
  const [first] = alike;
  if (reason === null || first === undefined) return [];
  const when = releasedSingly[reason];
  const isForAll = when === undefined && alike.length > 1;
  const steps: (readonly [string, string])[] = [
    [when ?? "Once fixed", `release ${first.id}`],
    ...(isForAll ? [["Then all", `release --reason ${reason}`] as const] : []),
    ["Delete", `discard ${first.id}`],
  ];
  const { receiver: _, ...anybody } = source;
  return [
    ...commandLines([["Look", `show ${first.id}`]], anybody, terminal),
    ...commandLines(steps, source, terminal),
  ];
}

/** The number of waiting deliveries, at either end, that are searched for one that waits for the right API key. */
const searched = 20;

/**
 * Prints that the service refuses the API key, and when and how it is asked again. Resolves to whether deliveries wait for the
 * right key; it looks at the newest and the oldest that wait.
 */
export async function tellRefusedKey(
  terminal: Terminal,
  inbox: Inbox,
  source: InboxSource,
): Promise<boolean> {
  const { receiver } = source;
  const query = { state: "received", receiver, limit: searched } as const;
  const newest = (await inbox.list({ ...query, newestFirst: true })).filter(isKeyRefused);
  if (newest.length === 0) return false;
  const oldest = (await inbox.list(query)).filter(isKeyRefused);
  const now = Date.now();
  const waits = [...newest, ...oldest].map(({ nextAttemptAt }) => Number(nextAttemptAt) - now);
  const waitMs = Math.max(0, ...waits);
  const { received } = await inbox.counts(receiver);
  const wait = received === 1 ? "1 delivery waits" : `${received} deliveries wait`;
  const isSoon = waitMs < 1_000;
  const when = isSoon ? "at once" : `within ${duration(waitMs)}`;
  const text = `The service refuses the API key: ${wait}, and nothing is verified until the app has the right key. Start it with that: it asks again ${when}.`;
  for (const line of hang("", text, terminal)) terminal.print(terminal.paint("red", line));
  const atOnce = isSoon ? [] : commandLines([["Or at once", "retry --all"]], source, terminal);
  for (const line of atOnce) terminal.print(line);
  return true;
}

/** Formats commands of `inbox` for a source, each with a title. */
export function commandLines(
  titled: readonly (readonly [string, string])[],
  { db, inbox, prefix, receiver }: InboxSource,
  terminal: Terminal,
): string[] {
  // A URL may contain a password, so it is not printed.
  const where = [
    ...(receiver === undefined ? [] : ["--receiver", receiver]),
    ...(db === undefined ? [] : ["--db", quoted(db)]),
    ...(inbox === undefined ? [] : ["--inbox URL"]),
    ...(prefix === undefined ? [] : ["--prefix", quoted(prefix)]),
  ].join(" ");
  return titled.map(([title, line]) => {
    const command = `${program()} inbox ${line}`;
    const lead = `${title}:`.padEnd(13);
    const isLong = lead.length + command.length + 1 + where.length > terminal.columns;
    return terminal.clean(
      `${lead}${command}${where && (isLong ? ` \\\n    ${where}` : ` ${where}`)}`,
    );
  });
}

/** The most frequent reason of parked entries, and those entries. */
function mostFrequent(entries: readonly Entry[]): [ReasonCode | null, readonly Entry[]] {
  const kinds = new Map<ReasonCode, Entry[]>();
  for (const entry of entries) {
    if (!isParked(entry.state) || entry.reason === null) continue;
    const { code } = entry.reason;
    kinds.set(code, [...(kinds.get(code) ?? []), entry]);
  }
  const [most] = [...kinds].sort(([, one], [, other]) => other.length - one.length);
  return most ?? [null, []];
}
