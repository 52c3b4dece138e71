import type { EntryDetails, Inbox } from "@reporthook/core";
import { getEntry } from "@reporthook/core/store";
import { CommandFailed } from "../lib/errors.ts";
import { type InboxSource, nameOf } from "./source.ts";

const idLength = 26;
const maxNamed = 5;

/**
 * The whole id of the only one that begins so; null if there is none. `look` finds those that do.
 *
 * @throws CommandFailed `ambiguous_id`, which lists their ids, if there are several
 */
export async function wholeId(
  given: string,
  look: (idPrefix: string, limit: number) => Promise<readonly { readonly id: string }[]>,
): Promise<string | null> {
  const idPrefix = given.toLowerCase();
  if (idPrefix.length >= idLength) return idPrefix;
  const found = idPrefix === "" ? [] : await look(idPrefix, maxNamed + 1);
  if (found.length < 2) return found[0]?.id ?? null;
  const named = found.slice(0, maxNamed).map(({ id }) => id);
  const more = found.length > maxNamed ? " and others" : "";
  const ids = named.join(", ") + more;
  const message = `Several ids begin with ${given}: ${ids}; type more of the one you mean`;
  throw new CommandFailed("ambiguous_id", message);
}

/**
 * The whole id of a delivery.
 *
 * @throws CommandFailed `not_found`, or as {@link wholeId} does
 */
export async function findId(inbox: Inbox, given: string, source: InboxSource): Promise<string> {
  const id = await wholeId(given, (idPrefix, limit) => inbox.list({ idPrefix, limit }));
  if (id === null) throw noSuch(given, source);
  return id;
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

function noSuch(id: string, source: InboxSource): CommandFailed {
  return new CommandFailed(
    "not_found",
    `${nameOf(source)} has no delivery ${id}: inbox list shows the deliveries`,
  );
}
