import type { Stage } from "@reporthook/core";
import { isParked, type StoredDelivery, states } from "@reporthook/core/store";
import { type Database, preparedOnce, type Row, type Statements } from "../database/driver.ts";
import { type Countable, everName, everReceiver, kindOf, namesOf } from "../protocol/counts.ts";
import type { OwnParts } from "../protocol/message.ts";
import { queues } from "../protocol/position.ts";
import type { Completion, Origin, StoredResult } from "../protocol/protocol.ts";
import {
  type Changes,
  changesOf,
  reasonOf,
  retentionClass,
  stateOf,
  storedDeliveryOf,
  withLease,
} from "../protocol/row.ts";
import { ChangeWriter } from "./change-writer.ts";
import { DedupeWindow, nothingKnown } from "./dedupe.ts";
import { ReceiverTable } from "./receiver-table.ts";
import { RowWriter } from "./row-writer.ts";

/** The columns that {@link Deliveries.remove} needs. */
export const removedColumns = "seq, receiver, state, verification, released, reason, context";

/** Leaves of a handled delivery what its key needs: a column that is not named here is empty then. */
const clearing = `
  REPLACE INTO delivery (seq, id, receiver, arrived_at, key, is_reused, state, kept_as, changed_at, url, headers)
  SELECT seq, id, receiver, arrived_at, key, is_reused, ${states.length}, ${retentionClass.keyOnly}, arrived_at, '', ''
  FROM delivery WHERE seq = ?`;

/** The deliveries in the file, and what changes together with them: their only writer, which counts each change. */
export class Deliveries {
  readonly database: Database;
  readonly statement: Statements;
  readonly receivers: ReceiverTable;
  readonly window: DedupeWindow;
  readonly #new: RowWriter;
  readonly #change: ChangeWriter;
  readonly #record: ChangeWriter;
  /** Changes of new deliveries that do not begin as received. */
  #changes: { readonly seq: number; readonly changes: Changes }[] = [];

  constructor(database: Database) {
    this.database = database;
    this.statement = preparedOnce(database);
    this.receivers = new ReceiverTable(database, this.statement);
    this.window = new DedupeWindow(this.statement, () => this.write());
    // A failure rolls back the whole transaction: SQLite need not prepare to undo the statement alone.
    this.#new = new RowWriter(database, "INSERT OR FAIL INTO delivery");
    const change = ", starts = ? WHERE seq = ?";
    this.#change = new ChangeWriter(database, change);
    this.#record = new ChangeWriter(database, `${change} AND queue = ? AND rank = ?`);
  }

  /** Forgets additions that were not written. */
  rollBack(): void {
    this.#new.clear();
    this.#changes = [];
  }

  /** Adds a delivery, leased to a worker if given; {@link write} stores it. */
  add(origin: Origin, own: OwnParts, workerId: number | null): StoredResult {
    const { receivers, window } = this;
    const { url, context, headers, kind, changes, isNotification } = origin;
    const { id, arrivedAt, requestId, signature, body, key } = own;
    const known = key === null ? nothingKnown : window.find(key, arrivedAt);
    const { duplicateOf, sameSignatureAs, unindexed } = known;
    if (duplicateOf !== undefined) return { duplicateOf };
    const receiver = receivers.idOf(origin.receiver);
    const seq = receivers.lastNumber + 1;
    const isLeased = workerId !== null;
    this.#new.add(
      { seq, id, arrived_at: arrivedAt, key, rank: workerId ?? arrivedAt, signature, body },
      {
        receiver,
        request: requestId,
        is_reused: unindexed.length > 0 ? 1 : null,
        same_signature_as: sameSignatureAs ?? null,
        state: 0,
        queue: isLeased ? queues.verify.leased : queues.verify.first,
        starts: isLeased ? 1 : 0,
        url,
        context,
        headers,
      },
    );
    if (changes !== null) this.#changes.push({ seq, changes });
    if (key !== null) window.add(seq, key, known);
    receivers.count(receiver, namesOf(kind), 1);
    receivers.count(everReceiver, [everName], 1);
    if (isNotification) receivers.noteNewest(receiver, id);
    return sameSignatureAs === undefined ? seq : { seq, sameSignatureAs };
  }

  write(): void {
    this.#new.write();
    for (const { seq, changes } of this.#changes) this.#change.run(changes, 0, seq);
    this.#changes = [];
  }

  /** Records the end of an attempt; the same worker has a lease for `next`, if that is not null. False when the lease is lost. */
  record(completion: Completion, next: Stage | null): boolean {
    const { seq, stage, leasedTo: workerId, receiver, kindBefore, kindAfter } = completion;
    const { changes } = completion;
    const written = next === null ? changes : withLease(workerId, next, changes);
    const starts = next === null ? 0 : 1;
    if (this.#record.run(written, starts, seq, queues[stage].leased, workerId) === 0) return false;
    this.#recount(this.receivers.idOf(receiver), kindBefore, kindAfter);
    return true;
  }

  /** Changes a delivery without a lease; returns it. Its starts are those that the row says. */
  edit(row: Row, now: number, change: (stored: StoredDelivery) => void): StoredDelivery {
    const stored = this.storedDeliveryOf(row);
    const kindBefore = kindOf(stored);
    change(stored);
    this.#change.run(changesOf(stored, now), row["starts"] ?? 0, Number(row["seq"]));
    this.#recount(Number(row["receiver"]), kindBefore, kindOf(stored));
    return stored;
  }

  /** Drops body and path of a delivery, which {@link edit} does not write, and has other columns as told. */
  drop({ seq = 0 }: Row, others: string): void {
    this.statement(`UPDATE delivery SET body = NULL, url = '', ${others} WHERE seq = ?`).run(seq);
  }

  /** Deletes the delivery of a row with {@link removedColumns}, so that a copy of it is new; all but its key, if told so. */
  remove(row: Row, keepsKey = false): void {
    const seq = Number(row["seq"]);
    this.statement(keepsKey ? clearing : "DELETE FROM delivery WHERE seq = ?").run(seq);
    const [state, reason] = [stateOf(row), reasonOf(row)];
    const rest = { state, reason, lastTurnAt: null, attempts: 0 };
    const kind = kindOf({ ...(row as unknown as Countable), ...rest });
    const receiver = Number(row["receiver"]);
    this.receivers.count(receiver, namesOf(kind), -1);
    if (reason !== null && isParked(state)) {
      this.receivers.count(receiver, [`deleted:${reason.code}`], 1);
    }
  }

  storedDeliveryOf(row: Row): StoredDelivery {
    return storedDeliveryOf(row, this.receiverOf(row));
  }

  receiverOf(row: Row): string {
    return this.receivers.nameOf(Number(row["receiver"]));
  }

  #recount(receiver: number, kindBefore: number, kindAfter: number): void {
    if (kindBefore === kindAfter) return;
    this.receivers.count(receiver, namesOf(kindBefore), -1);
    this.receivers.count(receiver, namesOf(kindAfter), 1);
  }
}
