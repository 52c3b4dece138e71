import { isOfReport } from "../inbox/erasing.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { StoredRequest } from "../inbox/request-store.ts";
import type { EraseQuery } from "../inbox/selection.ts";
import { KnownRequests } from "./known-requests.ts";
import { erasedRequest } from "./request.ts";

/** The number of deliveries and of requests that were erased. */
export interface Erased {
  /** Null where only parked deliveries can be found: then none is erased. */
  readonly deliveries: number | null;
  readonly requests: number;
}

const page = 1_000;

/**
 * Erases all that an inbox has of one report or request: bodies, errors and contexts of its deliveries, and the requests but for
 * their ids, states and dates. With `dryRun` it only counts.
 */
export async function eraseReport(inbox: Inbox, query: EraseQuery): Promise<Erased> {
  const { dryRun = false, now, wallOffset = 0 } = query;
  const found = await requestsOf(inbox, query);
  let requests = 0;
  for (const { id, receiver } of found) {
    const known = new KnownRequests(inbox, receiver, { now: () => now, wallOffset });
    let isNew = false;
    await known.change(id, (read) => {
      isNew = read.isErased !== true;
      return isNew && !dryRun ? erasedRequest(read) : read;
    });
    if (isNew) requests++;
  }
  const requestIds = found.map(({ id }) => id);
  return { deliveries: (await inbox.erase?.({ ...query, requestIds })) ?? null, requests };
}

/** The requests that are meant: of a report also those that only their deliveries, or the service's answer, name. */
async function requestsOf(inbox: Inbox, query: EraseQuery): Promise<StoredRequest[]> {
  const { receiver, requestId, reportId = "" } = query;
  const store = inbox.requests;
  if (store === undefined) return [];
  if (requestId !== undefined) return [(await store.get(requestId, receiver)) ?? []].flat();
  const state = inbox.guarantees.finds === "parked" ? "parked" : undefined;
  const limit = Number.POSITIVE_INFINITY;
  const deliveries = await inbox.list({ receiver, reportId, state, limit });
  const brought = new Set(deliveries.map((entry) => entry.requestId));
  const found: StoredRequest[] = [];
  for (let after: string | undefined; ; ) {
    const some = await store.list({ receiver, limit: page, after });
    found.push(...some.filter((one) => brought.has(one.id) || names(one, reportId)));
    if (some.length < page) return found;
    after = some.at(-1)?.id;
  }
}

function names({ reportId: read, answer }: StoredRequest, reportId: string): boolean {
  const text = JSON.stringify({ reportId: read, answer });
  return isOfReport(new TextEncoder().encode(text), reportId);
}
