import type {
  ActQuery,
  Entry,
  EntryDetails,
  InboxQuery,
  Minute,
  State,
  Summary,
  SummaryQuery,
} from "@reporthook/core";
import {
  detailsOf,
  entryOf,
  idAt,
  idRange,
  isChosen,
  minuteMs,
  parkedReasons,
  states,
  statesOf,
  timeOf,
  zeroCounts,
} from "@reporthook/core/store";
import type { Row, Statement, Value } from "../../database/driver.ts";
import { parkedFor } from "../../protocol/counts.ts";
import { rowsPerStep } from "../../protocol/protocol.ts";
import { retentionClass } from "../../protocol/row.ts";
import type { Deliveries } from "../deliveries.ts";
import type { Lived } from "../lived.ts";

const listed = `id, receiver, arrived_at, request, state, queue, attempts, due_at,
  type, report, reason, reason_message, last_error, error, changed_at`;
// All that an act may change, and nothing long: whether there is a body, not the body.
const acted = `${listed}, seq, rank, starts, last_turn_at, verification, context,
  released, retry_state, history, signature, same_signature_as,
  CASE typeof(body) WHEN 'null' THEN NULL ELSE x'' END AS body`;
const { unsigned, parked, unsignedDead, announced } = retentionClass;
const parkedClasses = [unsigned, parked, unsignedDead, announced];

/** The rows with one value of an indexed column. */
interface IndexRange {
  readonly column: string;
  readonly value: Value;
}

/** Finds and counts deliveries, each time through an index. */
export class Query {
  readonly #deliveries: Deliveries;
  readonly #lived: Lived;

  constructor(deliveries: Deliveries, lived: Lived) {
    this.#deliveries = deliveries;
    this.#lived = lived;
  }

  get(id: string, receiver: string | undefined): EntryDetails | null {
    const { receivers, statement } = this.#deliveries.tables;
    const find = statement(
      "SELECT * FROM delivery WHERE receiver = ? AND state IN (0, 1, 2, 3, 4, 5) AND id = ? LIMIT 1",
    );
    for (const number of receivers.select(receiver)) {
      const row = find.get(number, id);
      if (row === undefined) continue;
      return detailsOf(this.#deliveries.storedDeliveryOf(row), this.#lived.wallOffset);
    }
    return null;
  }

  /** The next rows that an act may concern, in the order of their ids. */
  candidates(query: ActQuery, after: string): Row[] {
    const { id, receiver } = query;
    const asked: InboxQuery = { ...(id === undefined ? query : { idPrefix: id }), after };
    const rows = this.#deliveries.tables.receivers.select(receiver).flatMap((number) =>
      statesOf(query).flatMap((state) => {
        const ofState = { ...asked, state };
        return rangesOf(ofState).flatMap((one) =>
          this.#rows(number, one, ofState, rowsPerStep, acted),
        );
      }),
    );
    rows.sort((one, other) => (String(one["id"]) < String(other["id"]) ? -1 : 1));
    return rows.slice(0, rowsPerStep);
  }

  list(query: InboxQuery): Entry[] {
    const { receiver, newestFirst = false, limit = 100 } = query;
    const most = Math.min(Math.max(0, Math.floor(limit) || 0), Number.MAX_SAFE_INTEGER);
    const rows = this.#deliveries.tables.receivers
      .select(receiver)
      .flatMap((number) => rangesOf(query).flatMap((one) => this.#rows(number, one, query, most)));
    const { wallOffset } = this.#lived;
    const entries = rows.map((row) => entryOf(this.#deliveries.storedDeliveryOf(row), wallOffset));
    const sign = newestFirst ? -1 : 1;
    entries.sort((one, other) => (one.id < other.id ? -sign : sign));
    return entries.slice(0, most);
  }

  summary({ receiver, from, until }: SummaryQuery): Summary {
    const receivers = this.#deliveries.tables.receivers.select(receiver);
    const minutes: Minute[] = [];
    const end = until.getTime();
    for (let at = from.getTime(); at < end; ) {
      const next = Math.min(at + minuteMs - (at % minuteMs), end);
      const minute = this.#minute(receivers, at, next);
      if (minute !== null) minutes.push(minute);
      at = minute === null ? this.#firstFrom(receivers, next, end) : next;
    }
    const oldest = states.map((state) => [state, this.#oldest(receiver, state)]);
    return {
      parked: this.#parked(receivers),
      parkedChangedAt: this.#parkedChangedAt(),
      oldest: Object.fromEntries(oldest),
      minutes,
    };
  }

  #rows(
    receiver: number,
    { column, value }: IndexRange,
    query: InboxQuery,
    most: number,
    columns = listed,
  ): Row[] {
    const { state, newestFirst = false } = query;
    const { first, below } = idRange(query);
    const chosen = states.flatMap((one, number) => (isChosen(one, state) ? [number] : []));
    const filters = filtersOf(query);
    const conditions = [
      `receiver = ? AND ${column} = ? AND id >= ? AND id < ?`,
      ...filters.map((filter) => `${filter.column} = ?`),
      ...(chosen.length < states.length ? [`state IN (${chosen.join(", ")})`] : []),
    ];
    const statement = this.#deliveries.tables.statement(
      `SELECT ${columns} FROM delivery INDEXED BY delivery_${column} WHERE ${conditions.join(" AND ")}
       ORDER BY id ${newestFirst ? "DESC" : "ASC"} LIMIT ?`,
    );
    const values = filters.map((filter) => filter.value);
    return statement.all(receiver, value, first, below, ...values, most);
  }

  #minute(receivers: readonly number[], from: number, until: number): Minute | null {
    const all = this.#ofState("count(*) AS number");
    const counts = zeroCounts();
    const range = [idAt(from), idAt(until)];
    let total = 0;
    for (const receiver of receivers) {
      for (const [state, name] of states.entries()) {
        const count = Number(all.get(receiver, state, ...range)?.["number"]);
        total += count;
        counts[name] += count;
      }
    }
    return total === 0 ? null : { at: new Date(from - (from % minuteMs)), counts };
  }

  /** The time of receipt of the first delivery from a moment on, before `end`; `end` if there is none. */
  #firstFrom(receivers: readonly number[], from: number, end: number): number {
    const first = this.#ofState("id", "ORDER BY id LIMIT 1");
    const range = [idAt(from), idAt(end)];
    const rows = receivers.flatMap((receiver) =>
      [...states.keys()].flatMap((state) => first.all(receiver, state, ...range)),
    );
    return Math.max(from, Math.min(end, ...rows.map(({ id }) => timeOf(String(id)))));
  }

  /** A statement for the deliveries of a receiver in a state, with ids from one on and below another. */
  #ofState(columns: string, rest = ""): Statement {
    return this.#deliveries.tables.statement(
      `SELECT ${columns} FROM delivery INDEXED BY delivery_state
       WHERE receiver = ? AND state = ? AND id >= ? AND id < ? ${rest}`,
    );
  }

  #parked(receivers: readonly number[]): Summary["parked"] {
    const { counts } = this.#deliveries.tables.counters;
    const all = receivers.map((receiver) => counts.get(receiver) ?? []);
    const numbers = parkedReasons.map(
      (code) => [code, all.reduce((sum, one) => sum + parkedFor(one, code), 0)] as const,
    );
    return Object.fromEntries(numbers.filter(([, number]) => number > 0));
  }

  /** Through the index of what has ended, which knows no receivers. */
  #parkedChangedAt(): Date | null {
    const newest = this.#deliveries.tables.statement(
      "SELECT max(changed_at) AS at FROM delivery WHERE kept_as = ?",
    );
    const times = parkedClasses.flatMap((one) => Number(newest.get(one)?.["at"]) || []);
    return times.length === 0 ? null : new Date(Math.max(...times));
  }

  #oldest(receiver: string | undefined, state: State): Date | null {
    const query = { ...(receiver !== undefined && { receiver }), state, limit: 1 };
    return this.list(query)[0]?.receivedAt ?? null;
  }
}

/** The values that a query asks for, those first that the fewest rows have. */
function filtersOf({ requestId, reportId, error, reason, type }: InboxQuery): IndexRange[] {
  const values = { request: requestId, report: reportId, error, reason, type };
  return Object.entries(values).flatMap(([column, value]) =>
    value === undefined ? [] : [{ column, value }],
  );
}

/** The ranges to read: those of the filter with the fewest rows. */
function rangesOf(query: InboxQuery): IndexRange[] {
  const { state } = query;
  const [filter] = filtersOf(query);
  const isFew = state !== undefined && state !== "handled";
  if (filter !== undefined && !(filter.column === "type" && isFew)) return [filter];
  return states.flatMap((one, number) =>
    isChosen(one, state) ? [{ column: "state", value: number }] : [],
  );
}
