import type { EntryDetails } from "@reporthook/core";
import { isAttempt, printable } from "@reporthook/core/store";
import { cutMark, readableJson, redactText } from "./json-text.ts";
import { maxBodyLength, type WireDelivery } from "./wire.ts";

/** A body as the page shows it. */
export function shownBody(body: string | null): WireDelivery["body"] {
  if (body === null) return null;
  const json = readableJson(body, maxBodyLength);
  if (json !== null) return { text: json, isCut: json.endsWith(cutMark) };
  // A secret at the cut must not show its beginning.
  const text = redactText(body.slice(0, 2 * maxBodyLength)).slice(0, maxBodyLength);
  return { text, isCut: body.length > maxBodyLength };
}

/** A delivery in full, without secrets; its body is laid out already. */
export function shownDelivery(details: EntryDetails, body: WireDelivery["body"]): unknown {
  const { headers, history, context, url, ...entry } = details;
  return {
    ...redactEntry(entry),
    context: valueText(context),
    url: redactText(url),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, redactText(value)]),
    ),
    history: history.map((item) =>
      isAttempt(item) ? { ...item, error: item.error && redactText(item.error) } : item,
    ),
    body,
  };
}

/** Redacts what an error may have quoted. */
export function redactEntry<T extends Pick<EntryDetails, "lastError" | "reason">>(entry: T): T {
  const { lastError, reason } = entry;
  return {
    ...entry,
    lastError: lastError && redactText(lastError),
    reason: reason === null ? null : { ...reason, message: redactText(reason.message) },
  };
}

/** A value as JSON text to read, without secrets, of at most so many characters; null for null. */
export function valueText(value: unknown, longest?: number): string | null {
  if (value === null) return null;
  const text = JSON.stringify(value);
  return printable(readableJson(text, longest) ?? redactText(text).slice(0, longest), "\n");
}
