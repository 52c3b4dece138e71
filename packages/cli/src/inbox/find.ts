import type { EntryDetails, Inbox } from "@reporthook/core";
import { getEntry } from "@reporthook/core/store";
import { CommandFailed } from "../lib/errors.ts";
import { type InboxSource, nameOf } from "./source.ts";

const idLength = 26;
/** So many ids are looked for with a beginning: all but the last are named. */
export const idsLookedFor = 6;

/**
 * Finds the id with this beginning.
 *
 * @throws CommandFailed `not_found` if there is none; `ambiguous_id`, which lists them, if there are several
 */
export async function findId(inbox: Inbox, given: string, source: InboxSource): Promise<string> {
  const idPrefix = given.toLowerCase();
  if (idPrefix.length >= idLength) return idPrefix;
  const found = idPrefix === "" ? [] : await inbox.list({ idPrefix, limit: idsLookedFor });
  const only = onlyOne(found, given);
  if (only === undefined) throw noSuch(given, source);
  return only.id;
}

/**
 * The only one of those found; undefined if there is none.
 *
 * @throws CommandFailed `ambiguous_id`, which lists their ids, if there are several
 */
export function onlyOne<T extends { id: string }>(
  found: readonly T[],
  given: string,
): T | undefined {
  if (found.length < 2) return found[0];
  const named = found.slice(0, idsLookedFor - 1).map(({ id }) => id);
  const more = found.length === idsLookedFor ? " and others" : "";
  const ids = named.join(", ") + more;
  const message = `Several ids begin with ${given}: ${ids}; type more of the one you mean`;
  throw new CommandFailed("ambiguous_id", message);
}

/**
 * Finds the delivery whose id begins so; of one receiver if it is named.
 *
 * @throws CommandFailed as {@link findId} does
 */
export async function findEntry(
  inbox: Inbox,
  given: string,
  source: InboxSource,
  receiver?: string,
): Promise<EntryDetails> {
  const id = await findId(inbox, given, source);
  const details = await getEntry(inbox, id, receiver);
  if (details === null) throw noSuch(id, source);
  return details;
}

/** The failure for an unknown id. */
function noSuch(id: string, source: InboxSource): CommandFailed {
  return new CommandFailed(
    "not_found",
    `${nameOf(source)} has no delivery ${id}: inbox list shows the deliveries`,
  );
}
