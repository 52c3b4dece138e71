import {
  isAsked,
  type RequestCounts,
  type RequestStore,
  type StoredRequest,
} from "../request-store.ts";
import { isRequestOver, type Retention } from "../retention.ts";
import type { StoredDelivery } from "../stored-delivery.ts";

/** The requests of an inbox in memory. */
export class MemoryRequests implements RequestStore {
  readonly #all = new Map<string, StoredRequest>();

  readonly add: RequestStore["add"] = async (request) => {
    const { receiver, idempotencyKey: key } = request;
    for (const one of key === null ? [] : this.#all.values()) {
      if (one.receiver === receiver && one.idempotencyKey === key) return copyOf(one);
    }
    this.#all.set(request.id, copyOf(request));
    return null;
  };

  readonly get: RequestStore["get"] = async (id, receiver) => {
    const request = this.#all.get(id);
    const isTheirs = receiver === undefined || receiver === request?.receiver;
    return request !== undefined && isTheirs ? copyOf(request) : null;
  };

  readonly replace: RequestStore["replace"] = async (read, next) => {
    if (this.#all.get(read.id)?.version !== read.version) return false;
    if (next === null) this.#all.delete(read.id);
    else this.#all.set(read.id, copyOf(next));
    return true;
  };

  readonly list: RequestStore["list"] = async ({ receiver, state, newestFirst, limit, after }) => {
    const isBefore = (id: string, other: string) => (newestFirst ? id > other : id < other);
    return [...this.#all.values()]
      .filter((one) => isAsked(one, state) && (after === undefined || isBefore(after, one.id)))
      .filter((one) => receiver === undefined || one.receiver === receiver)
      .sort((one, other) => (isBefore(one.id, other.id) ? -1 : 1))
      .slice(0, limit)
      .map(copyOf);
  };

  readonly counts: RequestStore["counts"] = async (receiver) => {
    const counts = { unconfirmed: 0, open: 0, complete: 0, internal_error: 0, overdue: 0 };
    for (const one of this.#all.values()) {
      if (receiver !== undefined && one.receiver !== receiver) continue;
      counts[one.state]++;
      if (isAsked(one, "overdue")) counts.overdue++;
    }
    return counts satisfies RequestCounts;
  };

  readonly due: RequestStore["due"] = async (receiver, until, limit) =>
    [...this.#all.values()]
      .filter((one) => one.receiver === receiver && one.settledAt === null && one.dueAt <= until)
      .filter(({ dates }) => dates.overdueAt === null)
      .sort((one, other) => one.dueAt - other.dueAt)
      .slice(0, limit)
      .map(copyOf);

  /** Deletes the requests whose retention is over, but those with a delivery that is kept. */
  prune(retention: Retention, now: number, deliveries: Iterable<StoredDelivery>): void {
    if (this.#all.size === 0) return;
    const kept = new Set([...deliveries].map(({ requestId }) => requestId));
    for (const one of this.#all.values()) {
      if (isRequestOver(one, retention, now) && !kept.has(one.id)) this.#all.delete(one.id);
    }
  }
}

/** Copies a request, as a store elsewhere does: no caller has the kept one. */
function copyOf(request: StoredRequest): StoredRequest {
  return JSON.parse(JSON.stringify(request)) as StoredRequest;
}
