import type { Entry, ReasonCode } from "@reporthook/core";
import { isParked } from "@reporthook/core/store";
import { program } from "../lib/environment.ts";
import { quoted } from "../lib/layout.ts";
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
  no_token: "If genuine",
  poison: "Once fixed",
};

/** A source, and the receiver that is named. */
export type Named = InboxSource & { readonly receiver?: string | undefined };

/** The next commands for the parked entries of the most frequent reason: look, release one, release all, delete. */
export function nextSteps(entries: readonly Entry[], source: Named, terminal: Terminal): string[] {
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

/** Formats commands of `inbox` for a source, each with a title. */
export function commandLines(
  titled: readonly (readonly [string, string])[],
  { db, inbox, prefix, receiver }: Named,
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
