import type { Entry, EntryDetails } from "./delivery.ts";
import type { Counts, InboxQuery } from "./inbox.ts";
import type { Settings } from "./options.ts";

/** A receiver's deliveries, for the person who looks after them. */
export interface ReceiverInbox {
  /** Oldest first. */
  list(query?: Omit<InboxQuery, "receiver">): Promise<Entry[]>;
  /** One in full, or null. */
  get(id: string): Promise<EntryDetails | null>;
  counts(): Promise<Counts>;
  /** Runs a held, dead or handled one, attempts from zero. Rejects `not_found` or `not_releasable`. */
  release(id: string): Promise<void>;
  /** Deletes a parked one. Rejects `not_found` or `not_parked`. */
  discard(id: string): Promise<void>;
}

/** Makes that view of an inbox; `prune` comes before each look. */
export function receiverInbox(
  { inbox, name, clock }: Pick<Settings, "inbox" | "name" | "clock">,
  prune: () => Promise<void>,
): ReceiverInbox {
  async function kept<T>(look: () => Promise<T>): Promise<T> {
    await prune();
    return look();
  }
  return {
    list: (query = {}) => kept(() => inbox.list({ ...query, receiver: name })),
    get: (id) => kept(() => inbox.get(id, name)),
    counts: () => kept(() => inbox.counts(name)),
    release: async (id) => {
      await inbox.release({ receiver: name, id, now: clock.now() });
    },
    discard: (id) => inbox.discard(id, name),
  };
}
