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
  isNotification,
  isParked,
  type StoredDelivery,
  states,
  timeOf,
} from "@reporthook/core/store";
import { isId } from "../queues/lost-jobs.ts";
import { type Place, parkedQueues, unfinished } from "../queues/places.ts";
import { handledAtOnce, type ReceiverQueues } from "../queues/queues.ts";
import { idsFor } from "./parked.ts";

type Type = (typeof unfinished)[number] | "completed" | "failed";

/** The place of the deliveries of a state. */
interface Where {
  readonly place: Place;
  readonly types: readonly Type[];
}

const whereOf: Readonly<Record<State, readonly Where[]>> = {
  received: [{ place: "verify", types: unfinished }],
  verified: [{ place: "handle", types: unfinished }],
  handled: [
    { place: "verify", types: ["completed"] },
    { place: "handle", types: ["completed"] },
    { place: "unsigned", types: ["wait"] },
  ],
  held: [{ place: "held", types: unfinished }],
  rejected: [
    { place: "verify", types: ["failed"] },
    { place: "handle", types: ["failed"] },
  ],
  dead: [
    { place: "dead", types: unfinished },
    { place: "unsigned", types: ["prioritized"] },
  ],
};

const atOnce = 20_000;
const endedAtOnce = 1_000;
const peek = 1_000;
const ends = 100;
const pageSize = 50;
const few: readonly State[] = ["held", "rejected", "dead"];

/**
 * Calls `found` with all ids of one state, in no particular order. Ended jobs are read newest first, down to those that ended
 * before `since()`: these were received before that, too.
 */
export async function eachId(
  queues: ReceiverQueues,
  state: State,
  found: (id: string) => void,
  since: () => number = () => 0,
): Promise<void> {
  for (const { place, types } of whereOf[state]) {
    const queue = queues.of(place);
    for (const type of types) {
      const ended = type === "completed" || type === "failed";
      const step = ended ? endedAtOnce : atOnce;
      for (let from = 0; ; from += step) {
        const ids = await queue.getRanges([type], from, from + step - 1, !ended);
        for (const id of ids) found(id);
        const last = ids.at(-1);
        if (last === undefined || ids.length < step) break;
        if (ended && ((await queue.getJob(last))?.finishedOn ?? Infinity) < since()) break;
      }
    }
  }
}

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
      for (const place of parkedQueues) (await idsFor(queues, place, reason)).forEach(add);
    }
    for (const state of asked) {
      if (isIndexed && isParked(state)) continue;
      if (state === "verified") (await handledAtOnce(queues)).forEach(add);
      await eachId(queues, state, add, since);
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

/** The id of the oldest delivery in a state, among the first and last thousand of its sets. */
export async function oldestOf(queues: ReceiverQueues, state: State): Promise<string | null> {
  const ids: string[] = [];
  for (const { place, types } of whereOf[state]) {
    for (const type of types)
      ids.push(...(await queues.of(place).getRanges([type], 0, peek, true)));
  }
  return ids.filter(isId).sort()[0] ?? null;
}

/** Most events of the receiver itself that are passed over to find the newest notification. */
const ownAtOnce = 20;

/** The id of the newest delivery that came from outside, among the first and last hundred of all sets. */
export async function newestOf(queues: ReceiverQueues): Promise<string | null> {
  const where = states.flatMap((state) => whereOf[state]);
  const sets = where.flatMap(({ place, types }) =>
    types.flatMap((type) =>
      [true, false].map((asc) => queues.of(place).getRanges([type], 0, ends, asc)),
    ),
  );
  const ids = [...new Set((await Promise.all(sets)).flat().filter(isId))].sort().reverse();
  const found = await Promise.all(ids.slice(0, ownAtOnce).map((id) => queues.find(id)));
  const at = found.findIndex((one) => one === null || isNotification(one.jobState.stored));
  return ids[at < 0 ? found.length : at] ?? null;
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
