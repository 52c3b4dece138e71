import type {
  Entry,
  EntryDetails,
  Health,
  Inbox,
  InboxQuery,
  Receiver,
  Summary,
  SummaryQuery,
} from "@reporthook/core";

/** What a dashboard shows: a receiver, or an inbox without one by {@link ofInbox}. */
export interface Source {
  readonly inbox: Omit<Receiver["inbox"], "discard">;
  health(): Promise<Health>;
}

/** Options of {@link ofInbox}. */
export interface InboxOptions {
  /** Whose deliveries: the name of the receiver, `"reports"`. */
  readonly receiver?: string;
}

/**
 * An inbox without its receiver: for a tool that opens the file of an app.
 *
 * @example const page = dashboard(ofInbox(sqliteInbox("inbox.db", { migrate: false })));
 */
export function ofInbox(inbox: Inbox, { receiver = "reports" }: InboxOptions = {}): Source {
  const now = (): number => Date.now();
  return {
    async health() {
      const health = await inbox.health();
      const oldest = await inbox.oldestWaiting(receiver);
      const oldestWaitingMs = oldest === null ? null : Math.max(0, now() - oldest.getTime());
      const counts = await inbox.counts(receiver);
      return { ready: health.ok, inbox: health, service: "unknown", oldestWaitingMs, counts };
    },
    inbox: {
      list: (query: Omit<InboxQuery, "receiver"> = {}): Promise<Entry[]> =>
        inbox.list({ ...query, receiver }),
      get: (id: string): Promise<EntryDetails | null> => inbox.get(id, receiver),
      counts: () => inbox.counts(receiver),
      summary: (query: Omit<SummaryQuery, "receiver">): Promise<Summary> =>
        inbox.summary({ ...query, receiver }),
      async release(id) {
        await inbox.release({ receiver, id, now: now() });
      },
      releaseAll: (reason) => inbox.release({ receiver, reason, now: now() }),
      async retry(id) {
        await inbox.release({ receiver, retry: id, now: now() });
      },
    },
  };
}
