import type { Entry, EntryDetails, ReasonCode } from "./delivery.ts";
import type { Counts, InboxQuery, Summary, SummaryQuery } from "./inbox.ts";
import type { Settings } from "./settings.ts";

/** A receiver's deliveries, for the person who looks after them. */
export interface ReceiverInbox {
  /** Oldest first, unless told. */
  list(query?: Omit<InboxQuery, "receiver">): Promise<Entry[]>;
  /** One in full, or null. */
  get(id: string): Promise<EntryDetails | null>;
  counts(): Promise<Counts>;
  /** In numbers: all there is, and what was received in a span of time. */
  summary(query: Omit<SummaryQuery, "receiver">): Promise<Summary>;
  /** Runs a held, dead or handled one, attempts from zero. Rejects `not_found` or `not_releasable`. */
  release(id: string): Promise<void>;
  /** Runs all that are parked for a reason; resolves to how many. */
  releaseAll(reason: ReasonCode): Promise<number>;
  /** Has one that waits for its next try tried at once. Rejects `not_found` or `not_releasable`. */
  retry(id: string): Promise<void>;
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
    summary: (query) => kept(() => inbox.summary({ ...query, receiver: name })),
    release: async (id) => {
      await inbox.release({ receiver: name, id, now: clock.now() });
    },
    releaseAll: (reason) => inbox.release({ receiver: name, reason, now: clock.now() }),
    retry: async (id) => {
      await inbox.release({ receiver: name, retry: id, now: clock.now() });
    },
    discard: (id) => inbox.discard(id, name),
  };
}
