import type { Notes } from "@reporthook/core";
import type { Deliveries } from "./deliveries.ts";

/** The notes of a receiver whose keys begin with a prefix. */
export function findNotes({ statement }: Deliveries, receiver: string, prefix: string): Notes {
  const find = statement("SELECT key, text FROM note WHERE receiver = ? AND key >= ? AND key < ?");
  // A tilde sorts after every character of a key.
  const rows = find.all(receiver, prefix, `${prefix}~`);
  return Object.fromEntries(rows.map(({ key, text }) => [String(key), String(text)]));
}

/** Keeps the notes of a receiver. */
export function keepNotes(
  deliveries: Deliveries,
  receiver: string,
  notes: Readonly<Record<string, string | null>>,
): void {
  const { statement, receivers } = deliveries;
  receivers.idOf(receiver);
  const keep = statement("INSERT OR REPLACE INTO note (receiver, key, text) VALUES (?, ?, ?)");
  const remove = statement("DELETE FROM note WHERE receiver = ? AND key = ?");
  for (const [key, text] of Object.entries(notes)) {
    if (text === null) remove.run(receiver, key);
    else keep.run(receiver, key, text);
  }
}
