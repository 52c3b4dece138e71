import type { EntryDetails, Inbox } from "@reporthook/core";
import { getEntry } from "@reporthook/core/store";
import { CommandFailed } from "../lib/errors.ts";
import { type InboxSource, nameOf } from "./source.ts";

const idLength = 26;
const maxNamed = 5;

/**
 * Finds the id with this beginning.
 *
 * @throws CommandFailed `not_found` if there is none; `ambiguous_id`, which lists them, if there are several
 */
export async function findId(inbox: Inbox, given: string, source: InboxSource): Promise<string> {
  const idPrefix = given.toLowerCase();
  if (idPrefix.length >= idLength) return idPrefix;
  const found = idPrefix === "" ? [] : await inbox.list({ idPrefix, limit: maxNamed + 1 });
  const [first, second] = found.map(({ id }) => id);
  if (first === undefined) throw noSuch(given, source);
  if (second === undefined) return first;
  const named = found.slice(0, maxNamed).map(({ id }) => id);
  const more = found.length > maxNamed ? " and others" : "";
  throw new CommandFailed(
    "ambiguous_id",
    `Several ids begin with ${given}: ${named.join(", ")}${more}; type more of the one you mean`,
  );
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
export function noSuch(id: string, source: InboxSource): CommandFailed {
  return new CommandFailed(
    "not_found",
    `${nameOf(source)} has no delivery ${id}: inbox list shows the deliveries`,
  );
}
