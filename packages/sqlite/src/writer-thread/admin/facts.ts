import type { Facts, ParkedFact } from "@reporthook/core";
import {
  comparedErrors,
  expiringOf,
  mostFrequent,
  parkedReasons,
  states,
  timeOf,
} from "@reporthook/core/store";
import type { Statement } from "../../database/driver.ts";
import { countsByState, failingIn, parkedFor } from "../../protocol/counts.ts";
import { queues } from "../../protocol/position.ts";
import { retentionClass } from "../../protocol/row.ts";
import type { Deliveries } from "../deliveries.ts";
import type { Maintenance } from "./maintenance.ts";

const maxCounted = 10_000;
/** The queues with deliveries whose handlers have failed, those first that have few others. */
const searched = [queues.handle.later, queues.handle.leased, queues.handle.first];

/** The facts of a receiver: numbers that are counted as they change, and steps in an index. */
export class StoredFacts {
  readonly #deliveries: Deliveries;
  readonly #maintenance: Pick<Maintenance, "retention">;
  readonly #oldest: Statement;
  readonly #newest: Statement;
  readonly #parkedFirst: Statement;
  readonly #announced: Statement;
  readonly #errors: Statement;

  constructor(deliveries: Deliveries, maintenance: Pick<Maintenance, "retention">) {
    this.#deliveries = deliveries;
    this.#maintenance = maintenance;
    const prepare = (sql: string): Statement => deliveries.tables.database.prepare(sql);
    const ofState = "FROM delivery INDEXED BY delivery_state WHERE receiver = ? AND state = ?";
    this.#oldest = prepare(`SELECT arrived_at ${ofState} ORDER BY id LIMIT 1`);
    this.#newest = prepare(`SELECT id ${ofState} ORDER BY id DESC LIMIT 1`);
    this.#parkedFirst = prepare(
      `SELECT ifnull(changed_at, arrived_at) AS at FROM delivery INDEXED BY delivery_reason
       WHERE receiver = ? AND reason = ? AND kept_as <> ${retentionClass.rejected} ORDER BY id LIMIT 1`,
    );
    this.#announced = prepare(
      `SELECT count(*) AS number, min(changed_at) AS changedAt, min(announced_at) AS announcedAt
       FROM (SELECT receiver, changed_at, announced_at FROM delivery INDEXED BY delivery_ended
         WHERE kept_as = ${retentionClass.announced} ORDER BY changed_at LIMIT ${maxCounted}) WHERE receiver = ?`,
    );
    this.#errors = prepare(
      `SELECT last_error FROM (SELECT attempts, last_error FROM delivery INDEXED BY delivery_queue
         WHERE receiver = ? AND queue = ? ORDER BY rank LIMIT ${maxCounted / 10}) WHERE attempts > 0 LIMIT ?`,
    );
  }

  of(receiver: string): Facts {
    const { counters, receivers } = this.#deliveries.tables;
    const [number = 0] = receivers.select(receiver);
    const counts = counters.counts.get(number) ?? [];
    const oldest = (state: string): number =>
      Number(this.#oldest.get(number, states.indexOf(state as never))?.["arrived_at"] ?? Infinity);
    const unverified = oldest("received");
    const newest = states.flatMap((_, state) => this.#newest.get(number, state)?.["id"] ?? []);
    const failing = failingIn(counts);
    return {
      counts: countsByState(counts),
      newest: newest.length === 0 ? null : Math.max(...newest.map((id) => timeOf(String(id)))),
      oldestUnverified: finite(unverified),
      oldestWaiting: finite(Math.min(unverified, oldest("verified"))),
      parked: this.#parked(number, counts),
      expiring: this.#expiring(number),
      failing: failing === 0 ? null : { count: failing, error: this.#frequentError(number) },
    };
  }

  #parked(receiver: number, counts: readonly number[]): ParkedFact[] {
    return parkedReasons.flatMap((reason) => {
      const count = parkedFor(counts, reason);
      const since = count > 0 ? this.#parkedFirst.get(receiver, reason)?.["at"] : undefined;
      return since === undefined ? [] : [{ reason, count, since: Number(since) }];
    });
  }

  #expiring(receiver: number): Facts["expiring"] {
    const { number, changedAt, announcedAt } = this.#announced.get(receiver) ?? {};
    if (!number) return null;
    const first = { changedAt: Number(changedAt), announcedAt: Number(announcedAt) };
    return expiringOf(Number(number), first, this.#maintenance.retention);
  }

  #frequentError(receiver: number): string | null {
    const errors: string[] = [];
    for (const queue of searched) {
      const rows = this.#errors.all(receiver, queue, comparedErrors - errors.length);
      errors.push(...rows.map(({ last_error: error }) => String(error ?? "")));
    }
    return mostFrequent(errors);
  }
}

function finite(time: number): number | null {
  return Number.isFinite(time) ? time : null;
}
