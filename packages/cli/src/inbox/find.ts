import type { Inbox } from "@reporthook/core";
import { Failure } from "../lib/errors.ts";
import { type InboxSource, noSuch } from "./source.ts";

const idLength = 26;
const mostNamed = 5;

/**
 * Finds the id with this beginning.
 *
 * @throws Failure `not_found` if there is none; `ambiguous_id`, which lists them, if there are several
 */
export async function findId(inbox: Inbox, given: string, source: InboxSource): Promise<string> {
  const idPrefix = given.toLowerCase();
  if (idPrefix.length >= idLength) return idPrefix;
  const found = idPrefix === "" ? [] : await inbox.list({ idPrefix, limit: mostNamed + 1 });
  const [first, second] = found.map(({ id }) => id);
  if (first === undefined) throw noSuch(given, source);
  if (second === undefined) return first;
  const named = found.slice(0, mostNamed).map(({ id }) => id);
  const more = found.length > mostNamed ? " and others" : "";
  throw new Failure(
    "ambiguous_id",
    `Several ids begin with ${given}: ${named.join(", ")}${more}; type more of the one you mean`,
  );
}
