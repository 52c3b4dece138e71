import { tryGet } from "../../lib/safe-get.ts";
import type { StoredDelivery } from "../stored-delivery.ts";

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
