import { tryGet } from "../../lib/safe-get.ts";
import { isParked, isWaiting } from "../delivery.ts";
import type { StoredDelivery } from "../stored-delivery.ts";
import { actRecordOf, dropContent, isAttempt, remember } from "../transitions.ts";
import type { EraseQuery } from "./selection.ts";

const erased = "Erased by a person: its body, errors and context are gone. It can't be released.";

/** Removes what a delivery tells: body, errors, context. One that waits becomes `dead`; the others stay what they are. */
export function eraseContent(stored: StoredDelivery, query: EraseQuery): void {
  dropContent(stored);
  stored.context = null;
  stored.lastError = null;
  stored.error = null;
  stored.history = stored.history.map((item) =>
    isAttempt(item) ? { ...item, error: null } : item,
  );
  if (isWaiting(stored.state)) stored.state = "dead";
  if (isParked(stored.state)) stored.reason = { code: "erased", message: erased };
  else if (stored.reason !== null) stored.reason = { ...stored.reason, message: erased };
  stored.changedAt = Math.max(query.now, stored.changedAt);
  remember(stored, actRecordOf("erase", query));
}

/** Whether nothing is left to erase. */
export function isErased({ body, context, lastError }: StoredDelivery): boolean {
  return body === null && context === null && lastError === null;
}

/** Whether a body is about a report: a member whose name ends with "id" has its id, as a text or a number, at any depth. */
export function isOfReport(body: Uint8Array | null, reportId: string): boolean {
  const text = new TextDecoder().decode(body ?? undefined);
  // Not by recursion: bodies of strangers may be nested as deep as they are long.
  const left: unknown[] = [tryGet(() => JSON.parse(text))];
  while (left.length > 0) {
    for (const [name, value] of Object.entries(left.pop() ?? {})) {
      if (typeof value === "object") left.push(value);
      else if (/id$/i.test(name) && typeof value !== "boolean" && String(value) === reportId)
        return true;
    }
  }
  return false;
}
