import type { Stage } from "@reporthook/core";
import type { Database, Statement, Value } from "../database/driver.ts";
import { ever } from "../protocol/kinds.ts";
import type { AddResult, Alike, Recorded } from "../protocol/protocol.ts";
import { queues } from "../protocol/queues.ts";
import { changing } from "../protocol/row.ts";
import { asGiven, ManyRows, type Rows } from "./bulk-insert.ts";
import { lastNumber, type Tally } from "./counters.ts";
import type { DedupeWindow } from "./dedupe/window.ts";
import type { Receivers } from "./receiver-ids.ts";

/** What deliveries are written with. */
export interface Files {
  readonly database: Database;
  readonly receivers: Receivers;
  readonly tally: Tally;
  readonly window: DedupeWindow;
}

/**
 * A delivery that arrives. `OR FAIL`, for a failure rolls back the whole transaction: SQLite need not keep what would undo the
 * statement alone.
 */
const arriving: Rows = {
  into: "INSERT OR FAIL INTO delivery",
  own: ["seq", "id", "received_at", "ack_ms", "signature", "body"],
  shared: ["receiver", "same_signature_as", "url", "context", "headers", "queue", "owner"],
  columns: {
    ...asGiven("seq", "id", "received_at", "ack_ms", "signature", "body"),
    ...asGiven("receiver", "same_signature_as", "url", "context", "headers", "queue"),
    ...{ state: "0", rank: "ifnull(owner, received_at)", starts: "owner IS NOT NULL" },
  },
};

/** Stores deliveries, and what becomes of them. */
export class Deliveries {
  readonly #files: Files;
  readonly #insert: ManyRows;
  readonly #change: Statement;
  readonly #record: Statement;
  readonly #drop: Statement;
  #nextSeq = 1;
  /** Of new ones that do not begin as received. */
  #changes: { readonly seq: number; readonly changes: readonly Value[] }[] = [];

  constructor(files: Files) {
    this.#files = files;
    const { database } = files;
    this.#insert = new ManyRows(database, arriving);
    const changes = changing.map((column) => `${column} = ?`).join(", ");
    this.#change = database.prepare(`UPDATE delivery SET ${changes} WHERE seq = ?`);
    this.#record = database.prepare(
      `UPDATE delivery SET ${changes}, starts = ? WHERE seq = ? AND queue = ? AND rank = ?`,
    );
    this.#drop = database.prepare("UPDATE delivery SET body = NULL, url = '' WHERE seq = ?");
    this.renumber();
  }

  /** The next number is beyond all that any process has given: one that was deleted is not given again. */
  renumber(): void {
    this.#nextSeq = lastNumber(this.#files.database) + 1;
  }

  /** Forgets what was not written. */
  rollBack(): void {
    this.#insert.clear();
    this.#changes = [];
  }

  /** Takes one of deliveries in, leased to `owner` if there is one; it is there once {@link write} was called. */
  add(
    alike: Alike,
    index: number,
    body: Uint8Array,
    key: Uint8Array | null,
    owner: number | null,
  ): AddResult {
    const { tally, window } = this.#files;
    const { kind, changes } = alike;
    const id = alike.ids[index] ?? "";
    const receivedAt = alike.receivedAt[index] ?? 0;
    const seen = key === null ? {} : window.look(key, receivedAt);
    if (seen.duplicateOf !== undefined) return { duplicateOf: seen.duplicateOf };
    const { sameSignatureAs } = seen;
    const receiver = this.#files.receivers.numberOf(alike.receiver);
    const seq = this.#nextSeq++;
    const { first, leased } = queues.verify;
    this.#insert.share([
      receiver,
      sameSignatureAs ?? null,
      alike.url,
      alike.context,
      alike.headers,
      owner === null ? first : leased,
      owner,
    ]);
    const [ackMs, signature] = [alike.ackMs[index] ?? 0, alike.signatures[index] ?? null];
    this.#insert.add(seq, id, receivedAt, ackMs, signature, body);
    if (changes !== null) this.#changes.push({ seq, changes });
    if (key !== null) window.add(seq, id, receivedAt, key);
    tally.change(receiver, kind, 1);
    tally.change(receiver, ever, 1);
    return sameSignatureAs === undefined ? seq : { seq, sameSignatureAs };
  }

  /** Writes what was taken in. */
  write(): void {
    this.#insert.write();
    for (const { seq, changes } of this.#changes) this.#change.run(...changes, seq);
    this.#changes = [];
  }

  /** Changes a delivery that its owner has leased, and leases it to a stage again; false when the lease is lost. */
  record(recorded: Recorded, leaseTo: Stage | null): boolean {
    const [seq, stage, owner, receiver, kindBefore, kindAfter, isDropped, values] = recorded;
    const [state, ...rest] = values as [Value, Value, Value, ...Value[]];
    if (leaseTo !== null) rest.splice(0, 2, queues[leaseTo].leased, owner);
    const starts = leaseTo === null ? 0 : 1;
    const lease = [queues[stage].leased, owner];
    const { changes } = this.#record.run(state, ...rest, starts, seq, ...lease);
    if (Number(changes) === 0) return false;
    if (isDropped) this.#drop.run(seq);
    this.recount(this.#files.receivers.numberOf(receiver), kindBefore, kindAfter);
    return true;
  }

  /** Changes a delivery that nobody has leased. */
  change(seq: number, changes: readonly Value[]): void {
    this.#change.run(...changes, seq);
  }

  recount(receiver: number, kindBefore: number, kindAfter: number): void {
    if (kindBefore === kindAfter) return;
    this.#files.tally.change(receiver, kindBefore, -1);
    this.#files.tally.change(receiver, kindAfter, 1);
  }
}
