import type { EraseQuery } from "../inbox/acts/act.ts";
import { isOfReport } from "../inbox/acts/erasing.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { RequestStore, StoredRequest } from "../inbox/request-store.ts";
import { changeRequest } from "./known-requests.ts";
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
  const { requests: store } = inbox;
  const find = async () => (store === undefined ? [] : requestsOf(inbox, store, query));
  let [deliveries, requests]: [number | null, number] = [null, 0];
  for (let found = await find(); ; ) {
    const left = found.filter(isLeft);
    if (store !== undefined && query.dryRun !== true) {
      for (const one of left) await changeRequest(store, one, erasedRequest);
    }
    const requestIds = found.map(({ id }) => id);
    const erased = await inbox.erase?.({ ...query, requestIds });
    if (erased !== undefined) deliveries = (deliveries ?? 0) + erased;
    requests += left.length;
    if (query.dryRun === true) return { deliveries, requests };
    // A delivery that was verified meanwhile names its request only now.
    found = await find();
    if (!found.some(isLeft)) return { deliveries, requests };
  }
}

const isLeft = ({ isErased }: StoredRequest): boolean => isErased !== true;

/** The requests that are meant: of a report also those that only their deliveries, or the service's answer, name. */
async function requestsOf(
  inbox: Inbox,
  store: RequestStore,
  { receiver, requestId, reportId = "" }: EraseQuery,
): Promise<StoredRequest[]> {
  if (requestId !== undefined) {
    const one = await store.get(requestId, receiver);
    return one === null ? [] : [one];
  }
  const state = inbox.guarantees.finds === "parked" ? "parked" : undefined;
  const limit = Number.POSITIVE_INFINITY;
  const deliveries = await inbox.list({ receiver, reportId, state, limit });
  const brought = new Set(deliveries.map((entry) => entry.requestId));
  const utf8 = new TextEncoder();
  const found: StoredRequest[] = [];
  let some: StoredRequest[] = [];
  do {
    some = await store.list({ receiver, limit: page, after: some.at(-1)?.id });
    for (const one of some) {
      const told = JSON.stringify({ reportId: one.reportId, answer: one.answer });
      const isNamed = isOfReport(utf8.encode(told), reportId);
      if (brought.has(one.id) || isNamed) found.push(one);
    }
  } while (some.length === page);
  return found;
}
