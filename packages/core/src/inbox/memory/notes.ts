import type { Notes } from "../facts/facts.ts";
import type { Inbox } from "../inbox.ts";

/** The notes of an inbox in memory. */
export class MemoryNotes {
  readonly #receivers = new Map<string, Map<string, string>>();

  find(receiver: string, prefix: string): Notes {
    const all = [...(this.#receivers.get(receiver) ?? [])];
    return Object.fromEntries(all.filter(([key]) => key.startsWith(prefix)));
  }

  keep(receiver: string, notes: Parameters<Inbox["keepNotes"]>[1]): void {
    const kept = this.#receivers.get(receiver) ?? new Map<string, string>();
    this.#receivers.set(receiver, kept);
    for (const [key, text] of Object.entries(notes)) {
      if (text === null) kept.delete(key);
      else kept.set(key, text);
    }
  }
}
