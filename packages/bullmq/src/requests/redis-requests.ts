import type { RequestCounts, RequestQuery, RequestStore, StoredRequest } from "@reporthook/core";
import { type Retention, requestStates, unsettledKeptMs } from "@reporthook/core/store";
import type { OpenSession, Session } from "../queues/session.ts";
import type { RedisCommands } from "../server/driver.ts";
import { addScript, pruneScript, replaceScript } from "./scripts.ts";

const most = 1_000;

/** The requests of an inbox on Redis: each change is one script, which no other command interrupts. */
export class RedisRequests implements RequestStore {
  readonly #session: Session;
  readonly #prefix: string;

  constructor(session: Session, prefix: string) {
    this.#session = session;
    this.#prefix = prefix;
  }

  readonly add: RequestStore["add"] = (request) =>
    this.#ask(async (redis, receivers) => {
      await receivers.of(request.receiver);
      const key = this.#key(request.receiver);
      return requestIn(await redis.eval(addScript, 1, key, ...argumentsOf(request)));
    });

  readonly get: RequestStore["get"] = (id, receiver) =>
    this.#ask(async (redis, receivers) => {
      for (const name of await namesOf(receivers, receiver)) {
        const found = requestIn(await redis.hget(this.#key(name), id));
        if (found !== null) return found;
      }
      return null;
    });

  readonly replace: RequestStore["replace"] = ({ id, receiver, version }, next) =>
    this.#ask(async (redis) => {
      const changed = next === null ? [] : argumentsOf(next);
      const given = [id, String(version), ...changed];
      return (await redis.eval(replaceScript, 1, this.#key(receiver), ...given)) === 1;
    });

  readonly list: RequestStore["list"] = (query) =>
    this.#ask(async (redis, receivers) => {
      const found: StoredRequest[] = [];
      for (const name of await namesOf(receivers, query.receiver)) {
        found.push(...(await this.#page(redis, name, query)));
      }
      const sign = query.newestFirst ? -1 : 1;
      found.sort((one, other) => (one.id < other.id ? -sign : sign));
      return found.slice(0, query.limit);
    });

  readonly counts: RequestStore["counts"] = (receiver) =>
    this.#ask(async (redis, receivers) => {
      const counts = { unconfirmed: 0, open: 0, complete: 0, internal_error: 0, overdue: 0 };
      for (const name of await namesOf(receivers, receiver)) {
        for (const state of [...requestStates, "overdue"] as const) {
          counts[state] += await redis.zcard(`${this.#key(name)}:${setOf(state)}`);
        }
      }
      return counts satisfies RequestCounts;
    });

  readonly due: RequestStore["due"] = (receiver, until, limit) =>
    this.#ask(async (redis) => {
      const set = `${this.#key(receiver)}:due`;
      const ids = await redis.zrangebyscore(set, "-inf", until, "LIMIT", 0, limit);
      return this.#all(redis, receiver, ids);
    });

  /**
   * Deletes what is over. Nothing finds the deliveries of a request, of which one may be parked as late as its retention lets it: a
   * request is kept for twice that time, so that who releases one still has the context.
   */
  async prune(
    { connection, receivers }: OpenSession,
    { handledMs, parkedMs }: Retention,
    now: number,
  ): Promise<void> {
    const settled = 2 * Math.max(handledMs, parkedMs);
    const kept = { settled, told: Math.max(settled, unsettledKeptMs) };
    const redis = await connection.redis();
    for (const name of await receivers.names()) {
      for (const [set, keptMs] of Object.entries(kept)) {
        const before = Number.isFinite(keptMs) ? String(now - keptMs) : "-inf";
        while ((await redis.eval(pruneScript, 1, this.#key(name), set, before)) === 500);
      }
    }
  }

  #ask<T>(
    question: (redis: RedisCommands, receivers: OpenSession["receivers"]) => Promise<T>,
  ): Promise<T> {
    return this.#session.ask(async ({ connection, receivers }) =>
      question(await connection.redis(), receivers),
    );
  }

  async #page(
    redis: RedisCommands,
    receiver: string,
    { state, newestFirst = false, limit, after }: RequestQuery,
  ): Promise<StoredRequest[]> {
    const found: StoredRequest[] = [];
    const [from, to] = newestFirst ? ["+", "-"] : ["-", "+"];
    const ask = newestFirst ? "zrevrangebylex" : "zrangebylex";
    for (let next = after === undefined ? from : `(${after}`; found.length < limit; ) {
      const count = Math.min(limit - found.length, most);
      const key = `${this.#key(receiver)}:${setOf(state)}`;
      const ids = await redis[ask](key, next, to, "LIMIT", 0, count);
      found.push(...(await this.#all(redis, receiver, ids)));
      if (ids.length < count) break;
      next = `(${ids.at(-1)}`;
    }
    return found;
  }

  async #all(
    redis: RedisCommands,
    receiver: string,
    ids: readonly string[],
  ): Promise<StoredRequest[]> {
    if (ids.length === 0) return [];
    const texts = await redis.hmget(this.#key(receiver), ...ids);
    return texts.flatMap((text) => requestIn(text) ?? []);
  }

  #key(receiver: string): string {
    // As BullMQ's keys begin: an ACL has one pattern for all.
    return `bull:${this.#prefix}-requests:${receiver}`;
  }
}

/** The name of a receiver, or those of all. */
async function namesOf(
  receivers: OpenSession["receivers"],
  receiver: string | undefined,
): Promise<readonly string[]> {
  return receiver === undefined ? receivers.names() : [receiver];
}

function setOf(state: RequestQuery["state"]): string {
  if (state === undefined) return "all";
  return state === "overdue" ? state : `state:${state}`;
}

function argumentsOf(request: StoredRequest): string[] {
  const { id, idempotencyKey, state, dueAt, settledAt, dates, version } = request;
  const text = `${version} ${JSON.stringify(request)}`;
  const times = [String(dueAt), settledAt === null ? "" : String(settledAt)];
  return [id, text, idempotencyKey ?? "", state, ...times, dates.overdueAt === null ? "0" : "1"];
}

function requestIn(text: unknown): StoredRequest | null {
  return typeof text === "string"
    ? (JSON.parse(text.slice(text.indexOf(" "))) as StoredRequest)
    : null;
}
