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
  readonly #byKey = new Map<string, string>();

  readonly add: RequestStore["add"] = async (request) => {
    const known = this.#byKey.get(keyOf(request) ?? "");
    if (known !== undefined) return this.get(known);
    this.#put(request);
    return null;
  };

  readonly get: RequestStore["get"] = async (id, receiver) => {
    const request = this.#all.get(id);
    const isTheirs = receiver === undefined || receiver === request?.receiver;
    return request !== undefined && isTheirs ? copyOf(request) : null;
  };

  readonly replace: RequestStore["replace"] = async (read, next) => {
    if (this.#all.get(read.id)?.version !== read.version) return false;
    this.#delete(read);
    if (next !== null) this.#put(next);
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
      .filter((one) => one.receiver === receiver && one.settledAt === null && !one.isTold)
      .filter(({ dueAt }) => dueAt <= until)
      .sort((one, other) => one.dueAt - other.dueAt)
      .slice(0, limit)
      .map(copyOf);

  /** Deletes the requests whose retention is over, but those with a delivery that is kept. */
  prune(retention: Retention, now: number, deliveries: Iterable<StoredDelivery>): void {
    if (this.#all.size === 0) return;
    const kept = new Set([...deliveries].map(({ requestId }) => requestId));
    for (const one of this.#all.values()) {
      if (isRequestOver(one, retention, now) && !kept.has(one.id)) this.#delete(one);
    }
  }

  #put(request: StoredRequest): void {
    this.#all.set(request.id, copyOf(request));
    const key = keyOf(request);
    if (key !== null) this.#byKey.set(key, request.id);
  }

  #delete(request: StoredRequest): void {
    this.#all.delete(request.id);
    this.#byKey.delete(keyOf(request) ?? "");
  }
}

/** As a store elsewhere makes it: what is kept is nobody else's object. */
function copyOf(request: StoredRequest): StoredRequest {
  return JSON.parse(JSON.stringify(request)) as StoredRequest;
}

function keyOf({ receiver, idempotencyKey }: StoredRequest): string | null {
  return idempotencyKey === null ? null : `${receiver} ${idempotencyKey}`;
}
