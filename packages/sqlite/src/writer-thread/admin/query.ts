import type {
  ActQuery,
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
  isChosen,
  minuteMs,
  states,
  statesOf,
  timeOf,
  zeroCounts,
} from "@reporthook/core/store";
import { byReason } from "../../protocol/counts.ts";
import type { ListPosition, Operations } from "../../protocol/operations.ts";
import { rowsPerStep } from "../../protocol/protocol.ts";
import { retentionClass } from "../../protocol/row.ts";
import type { Deliveries } from "../deliveries.ts";
import { wallOffsetIn } from "../lived.ts";
import { countRows, findRows, type Part } from "./rows.ts";

const listed = `id, receiver, arrived_at, request, state, queue, attempts, due_at,
  type, report, reason, reason_message, last_error, error, changed_at`;
// All that an act may change, and nothing long: whether there is a body, not the body.
const acted = `${listed}, seq, rank, starts, last_turn_at, verification, context,
  released, retry_state, history, signature, same_signature_as,
  CASE typeof(body) WHEN 'null' THEN NULL ELSE x'' END AS body`;
const { unsigned, parked, unsignedDead, announced } = retentionClass;
const parkedClasses = [unsigned, parked, unsignedDead, announced];

/** Finds and counts deliveries, each time through an index. */
export class Query {
  readonly #deliveries: Deliveries;

  constructor(deliveries: Deliveries) {
    this.#deliveries = deliveries;
  }

  get(id: string, receiver: string | undefined): EntryDetails | null {
    const { rows } = this.#first({ receiver, idPrefix: id }, states, "*");
    const [row] = rows;
    if (row?.["id"] !== id) return null;
    return detailsOf(this.#deliveries.storedDeliveryOf(row), wallOffsetIn(this.#deliveries));
  }

  /** The next rows that an act may concern, in the order of their ids. */
  candidates(query: ActQuery, after: string): Part {
    const { id, receiver } = query;
    const asked = id === undefined ? query : { receiver, idPrefix: id };
    return findRows(this.#deliveries, {
      query: { ...asked, after },
      states: statesOf(query),
      most: rowsPerStep,
      columns: acted,
    });
  }

  list(asked: InboxQuery, from: ListPosition | null): ReturnType<Operations["list"]> {
    const chosen = states.filter((state) => isChosen(state, asked.state));
    const query = from === null ? asked : { ...asked, after: from.after };
    const limit = Math.max(0, Math.floor(asked.limit ?? 100) || 0);
    const most = from?.left ?? Math.min(limit, Number.MAX_SAFE_INTEGER);
    const wanted = { query, states: chosen, most, columns: listed };
    const { rows, next: after } = findRows(this.#deliveries, wanted);
    const left = most - rows.length;
    const wallOffset = wallOffsetIn(this.#deliveries);
    const entries = rows.map((row) => entryOf(this.#deliveries.storedDeliveryOf(row), wallOffset));
    return { entries, next: after === null || left === 0 ? null : { after, left } };
  }

  summary({ receiver, from, until }: SummaryQuery): Summary {
    const minutes: Minute[] = [];
    const end = until.getTime();
    for (let at = from.getTime(); at < end; ) {
      const next = Math.min(at + minuteMs - (at % minuteMs), end);
      const minute = this.#minute(receiver, at, next);
      if (minute !== null) minutes.push(minute);
      at = minute === null ? this.#firstFrom(receiver, next, end) : next;
    }
    // To find that of one receiver's handled ones, those of all others would be looked at.
    const oldest = states.map((state) => [
      state,
      state === "handled" ? null : this.#oldest(receiver, state),
    ]);
    return {
      parked: byReason(this.#deliveries.receivers.tallyOf(receiver), "parked"),
      parkedChangedAt: this.#parkedChangedAt(),
      oldest: Object.fromEntries(oldest),
      minutes,
    };
  }

  #minute(receiver: string | undefined, from: number, until: number): Minute | null {
    const query = { receiver, ...rangeOf(from, until) };
    const counts = zeroCounts();
    for (const state of states) counts[state] = countRows(this.#deliveries, query, state);
    const isEmpty = Object.values(counts).every((count) => count === 0);
    return isEmpty ? null : { at: new Date(from - (from % minuteMs)), counts };
  }

  /** A moment before which there is no delivery from another one on; `end` if there is none before. */
  #firstFrom(receiver: string | undefined, from: number, end: number): number {
    const { rows, next } = this.#first({ receiver, ...rangeOf(from, end) }, states);
    const id = rows[0]?.["id"] ?? next;
    return id === null ? end : Math.max(from, timeOf(String(id)));
  }

  #oldest(receiver: string | undefined, state: State): Date | null {
    const id = this.#first({ receiver }, [state]).rows[0]?.["id"];
    return id === undefined ? null : new Date(timeOf(String(id)));
  }

  #first(query: InboxQuery, chosen: readonly State[], columns = "id"): Part {
    return findRows(this.#deliveries, { query, states: chosen, most: 1, columns });
  }

  /** Through the index of what has ended, which knows no receivers. */
  #parkedChangedAt(): Date | null {
    const newest = this.#deliveries.statement(
      "SELECT max(changed_at) AS at FROM delivery WHERE kept_as = ?",
    );
    const times = parkedClasses.flatMap((one) => Number(newest.get(one)?.["at"]) || []);
    return times.length === 0 ? null : new Date(Math.max(...times));
  }
}

function rangeOf(from: number, until: number): Pick<InboxQuery, "from" | "until"> {
  return { from: new Date(from), until: new Date(until) };
}
