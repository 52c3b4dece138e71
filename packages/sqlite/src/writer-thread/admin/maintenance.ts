import type { Parked, Pruned } from "@reporthook/core";
import {
  applyOutcome,
  dayMs,
  maxUnsigned,
  noticeMsOf,
  PruneCount,
  park,
  type Retention,
} from "@reporthook/core/store";
import type { Row, Value } from "../../database/driver.ts";
import { countsByState, sumOfCounts } from "../../protocol/counts.ts";
import { queues } from "../../protocol/position.ts";
import { type Reply, rowsPerStep } from "../../protocol/protocol.ts";
import { reasonOf, retentionClass, stateOf } from "../../protocol/row.ts";
import type { PruneStep } from "../../protocol/steps.ts";
import type { Consumers } from "../claim/consumers.ts";
import type { Deliveries } from "../deliveries.ts";
import type { RequestTable } from "../request-table.ts";
import { RejectedBound } from "./rejected.ts";
import { StoredRetention } from "./stored-retention.ts";

const maxRejected = 10_000;
/** The number of starts without a recorded outcome after which a delivery is parked as poison. */
const maxStarts = 5;

const ended =
  "SELECT seq, arrived_at, receiver, state, verification, reason, context FROM delivery WHERE kept_as";
const overBefore = `${ended} = ? AND changed_at < ? ORDER BY changed_at LIMIT ?`;

/** Periodic maintenance: deletes deliveries whose retention is over, and rescues those that dead workers had leased. */
export class Maintenance {
  readonly #deliveries: Deliveries;
  readonly #requests: RequestTable;
  readonly #rejected: RejectedBound;
  /** How long entries are kept. */
  readonly retention: StoredRetention;

  /** `retention` is written into the file; null keeps to the one that is there. */
  constructor(deliveries: Deliveries, requests: RequestTable, retention: Retention | null) {
    this.#deliveries = deliveries;
    this.#requests = requests;
    this.#rejected = new RejectedBound(deliveries);
    this.retention = new StoredRetention(deliveries.tables.database, retention);
  }

  /** One step of pruning: deletes deliveries whose retention is over, and announces the end of parked ones. */
  prune(now: number): PruneStep {
    const { statement } = this.#deliveries.tables;
    const retention = this.retention.read();
    const pruned = new PruneCount(retention);
    const moments = momentsOf(retention, now);
    let left = rowsPerStep;
    const each = (rows: readonly Row[], change: (row: Row) => void): void => {
      for (const row of rows) change(row);
      left -= rows.length;
    };
    const over = statement(overBefore);
    for (const [stored, before] of moments.endedBefore) {
      each(over.all(stored, before, left), (row) => {
        const keepsKey = stored === retentionClass.handled && isOfToday(row, now);
        this.#deliveries.remove(row, keepsKey);
        pruned.delete(countedOf(row), false);
      });
    }
    const overAnnounced = statement(
      `${ended} = ${retentionClass.announced} AND changed_at < ? AND announced_at <= ? ORDER BY changed_at LIMIT ?`,
    );
    each(overAnnounced.all(moments.parkedBefore, moments.announcedBefore, left), (row) => {
      this.#deliveries.remove(row);
      pruned.delete(countedOf(row), true);
    });
    const announce = statement(
      `UPDATE delivery SET kept_as = ${retentionClass.announced}, announced_at = ? WHERE seq = ?`,
    );
    each(over.all(retentionClass.parked, moments.announceBefore, left), (row) => {
      announce.run(now, Number(row["seq"]));
      pruned.announce(countedOf(row));
    });
    left -= this.#requests.prune(retention, now, Math.max(0, left));
    const deleteKeys = statement(
      `DELETE FROM delivery WHERE seq IN (SELECT seq FROM delivery
         WHERE kept_as = ${retentionClass.keyOnly} AND changed_at <= ? LIMIT ${rowsPerStep})`,
    );
    left -= Number(deleteKeys.run(now - dayMs).changes);
    return { pruned, more: left <= 0 };
  }

  /** Counts what all steps of pruning would do. */
  foresee(now: number): Pruned {
    const countByReason = this.#deliveries.tables.statement(
      "SELECT state, reason, count(*) AS number FROM delivery WHERE kept_as = ? AND changed_at < ? AND ifnull(announced_at, 0) <= ? GROUP BY state, reason",
    );
    const retention = this.retention.read();
    const pruned = new PruneCount(retention);
    const moments = momentsOf(retention, now);
    for (const row of moments.endedBefore.flatMap((moment) => countByReason.all(...moment, now))) {
      pruned.delete(countedOf(row), false, Number(row["number"]));
    }
    const { announced, parked } = retentionClass;
    for (const row of countByReason.all(announced, moments.parkedBefore, moments.announcedBefore)) {
      pruned.delete(countedOf(row), true, Number(row["number"]));
    }
    for (const row of countByReason.all(parked, moments.announceBefore, now)) {
      pruned.announce(countedOf(row), Number(row["number"]));
    }
    return pruned;
  }

  /** Deletes the oldest deliveries of this retention class beyond its maximum. */
  bound(stored: Value): void {
    if (stored === retentionClass.wholeRejected) {
      this.#rejected.keep();
      this.#boundRejected();
    }
    if (stored !== retentionClass.unsignedHandled && stored !== retentionClass.unsignedDead) return;
    const beyond = this.#deliveries.tables.statement(
      `${ended} = ? ORDER BY changed_at DESC LIMIT ${rowsPerStep} OFFSET ?`,
    );
    for (const row of beyond.all(stored, maxUnsigned)) this.#deliveries.remove(row);
  }

  #boundRejected(): void {
    const { counters, statement } = this.#deliveries.tables;
    const { rejected } = countsByState(sumOfCounts(counters.counts.values()));
    if (rejected <= maxRejected) return;
    const limit = Math.min(rejected - maxRejected, rowsPerStep);
    const oldest = statement(overBefore);
    for (const row of oldest.all(retentionClass.rejected, Number.MAX_SAFE_INTEGER, limit)) {
      this.#deliveries.remove(row);
    }
  }

  /** Requeues the deliveries of a dead worker; returns how many, and those that are parked instead. */
  rescue(
    workerId: number,
    consumers: Consumers,
  ): { readonly deliveries: number; readonly poisoned: Reply["poisoned"] } {
    const rows = this.#leasedTo(workerId);
    const poisoned = rows.flatMap((row) => {
      const moment = consumers.momentOf(this.#receiverOf(row));
      const { now } = moment;
      const starts = Number(row["starts"]);
      const isPoison = starts >= maxStarts;
      const edited = this.#deliveries.edit(row, now, (stored) => {
        if (isPoison) applyOutcome(stored, poison(starts), now, moment);
        // Each at another time, so that none runs beside the one that crashes the process.
        else if (starts > 1) stored.dueAt = now + Math.ceil(Math.random() * 1_000 * 2 ** starts);
      });
      return isPoison ? [edited] : [];
    });
    return { deliveries: rows.length, poisoned };
  }

  /** Requeues the deliveries of a worker that ends regularly, as if their work had not begun. */
  requeue(workerId: number, consumers: Consumers): void {
    for (const row of this.#leasedTo(workerId)) {
      const { now } = consumers.momentOf(this.#receiverOf(row));
      this.#deliveries.edit(row, now, () => {});
      this.#deliveries.forgetStarts(row);
    }
  }

  #leasedTo(workerId: number): Row[] {
    const { receivers, statement } = this.#deliveries.tables;
    const leased = statement(
      "SELECT * FROM delivery WHERE receiver = ? AND queue = ? AND rank = ?",
    );
    return receivers
      .select(undefined)
      .flatMap((receiver) =>
        [queues.verify.leased, queues.handle.leased].flatMap((queue) =>
          leased.all(receiver, queue, workerId),
        ),
      );
  }

  #receiverOf(row: Row): string {
    return this.#deliveries.tables.receivers.nameOf(Number(row["receiver"]));
  }
}

/** The moments before which deliveries must have changed, or been announced, for the next step of retention. */
function momentsOf(retention: Retention, now: number) {
  const { handledMs, parkedMs } = retention;
  const { rejected, wholeRejected, unsigned, handled, unsignedHandled, unsignedDead } =
    retentionClass;
  const noticeMs = noticeMsOf(retention);
  const yesterday = now - dayMs;
  return {
    /** Deleted without an announcement: class, moment. */
    endedBefore: [
      [rejected, yesterday],
      [wholeRejected, yesterday],
      [unsigned, yesterday],
      [handled, now - handledMs],
      [unsignedHandled, yesterday],
      [unsignedDead, yesterday],
    ] as const,
    parkedBefore: now - parkedMs,
    announceBefore: now - parkedMs + noticeMs,
    announcedBefore: now - noticeMs,
  };
}

/** Whether copies of a delivery may still be duplicates. */
function isOfToday({ arrived_at }: Row, now: number): boolean {
  return now - Number(arrived_at) < dayMs;
}

/** The parts of a row by which it is counted. */
function countedOf(row: Row): Parameters<PruneCount["announce"]>[0] {
  return { state: stateOf(row), reason: reasonOf(row) };
}

function poison(starts: number): Parked {
  return park(
    "dead",
    "poison",
    `The process ended ${starts} times while it processed this delivery. Fix the cause, then release it.`,
  );
}
