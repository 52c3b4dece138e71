import {
  type Entry,
  type ErrorGroup,
  type ErrorsQuery,
  type InboxFilters,
  type InboxQuery,
  ReporthookError,
  type State,
} from "@reporthook/core";
import {
  ErrorGroups,
  entryOf,
  filterEntries,
  idRange,
  isChosen,
  isParked,
  type StoredDelivery,
  states,
  timeOf,
} from "@reporthook/core/store";
import { isId } from "../queues/lost-jobs.ts";
import { parkedQueues } from "../queues/places.ts";
import type { ReceiverQueues } from "../queues/queues.ts";
import { ByState } from "./by-state.ts";
import { parkedShelf } from "./shelf.ts";

const pageSize = 50;
const few: readonly State[] = ["held", "rejected", "dead"];

/** @throws ReporthookError `not_searchable` for an event, a report, a request or an error among states with many deliveries */
function assertSearchable(
  { type, reportId, requestId, error }: InboxFilters,
  asked: readonly State[],
): void {
  const isAsked = (type ?? reportId ?? requestId ?? error) !== undefined;
  if (!isAsked || asked.every((one) => few.includes(one))) return;
  throw new ReporthookError(
    "not_searchable",
    "BullMQ can't look for an event, a report, a request or an error among what waits or is handled: ask for state held, dead, rejected or parked, too",
  );
}

/** A delivery's id, and the queues that have it. */
type Candidate = readonly [id: string, queues: ReceiverQueues];

/**
 * The deliveries in these states that a query may find, in the order of their ids; of the newest only so many are needed. All are
 * collected first: none is met twice.
 */
export async function candidatesOf(
  all: readonly ReceiverQueues[],
  query: InboxQuery,
  inStates: readonly State[],
  needed: number = Number.POSITIVE_INFINITY,
): Promise<Candidate[]> {
  const { reason, from, idPrefix } = query;
  // Only parked and rejected deliveries have a reason.
  const asked = inStates.filter((state) => reason === undefined || few.includes(state));
  assertSearchable(query, asked);
  if (isId(idPrefix)) return all.map((queues) => [idPrefix, queues] as const);
  // A record that is damaged is not understood, and its priority tells of another reason.
  const isIndexed = reason !== undefined && reason !== "not_understood";
  const { first, below } = idRange(query);
  const found = new Map<string, ReceiverQueues>();
  const since = (): number => {
    const enough = needed <= found.size ? timeOf([...found.keys()].sort().at(-needed) ?? "") : 0;
    return Math.max(from?.getTime() ?? 0, enough);
  };
  for (const queues of all) {
    const add = (id: string): void => {
      if (id >= first && id < below) found.set(id, queues);
    };
    if (isIndexed && asked.some(isParked)) {
      for (const place of parkedQueues) {
        (await parkedShelf(queues, place, reason).ids(0, Infinity)).forEach(add);
      }
    }
    const byState = new ByState(queues);
    for (const state of asked) {
      if (isIndexed && isParked(state)) continue;
      await byState.eachId(state, add, since);
    }
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1));
}

/** Reads deliveries, some at a time. */
async function* pagesOf(candidates: readonly Candidate[]): AsyncGenerator<StoredDelivery[]> {
  for (let from = 0; from < candidates.length; from += pageSize) {
    const page = candidates.slice(from, from + pageSize);
    const found = await Promise.all(page.map(([id, queues]) => queues.find(id)));
    yield found.flatMap((one) => one?.jobState.stored ?? []);
  }
}

/** The entries that a query finds, in its order. */
export async function list(
  all: readonly ReceiverQueues[],
  query: InboxQuery,
  wallOffset: number,
): Promise<Entry[]> {
  const { type, reportId, requestId, reason, error, newestFirst = false, limit = 100 } = query;
  const chosenById = (type ?? reportId ?? requestId ?? reason ?? error) === undefined;
  const needed = newestFirst && chosenById ? limit : Number.POSITIVE_INFINITY;
  const asked = states.filter((state) => isChosen(state, query.state));
  const candidates = await candidatesOf(all, query, asked, needed);
  const entries: Entry[] = [];
  for await (const page of pagesOf(newestFirst ? candidates.reverse() : candidates)) {
    entries.push(...filterEntries(page, query).map((stored) => entryOf(stored, wallOffset)));
    if (entries.length >= limit) break;
  }
  return entries.slice(0, limit);
}

/** Groups deliveries by their errors: it reads all in the states that are asked for. */
export async function readErrors(
  all: readonly ReceiverQueues[],
  query: ErrorsQuery,
): Promise<ErrorGroup[]> {
  const asked = states.filter((one) => isChosen(one, query.state ?? "parked"));
  const groups = new ErrorGroups();
  for await (const page of pagesOf(await candidatesOf(all, { error: "" }, asked))) {
    for (const stored of page) groups.addStored(stored, query);
  }
  return groups.list();
}
