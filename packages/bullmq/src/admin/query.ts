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
  idRange,
  isChosen,
  isNotification,
  states,
  timeOf,
} from "@reporthook/core/store";
import { isId } from "../queues/lost-jobs.ts";
import { handledAtOnce, type Place, type ReceiverQueues, unfinished } from "../queues/queues.ts";

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
export function assertSearchable(
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

/** The entries that a query finds, in its order. */
export async function list(
  all: readonly ReceiverQueues[],
  query: InboxQuery,
  wallOffset: number,
): Promise<Entry[]> {
  const { type, reportId, requestId, reason, error, newestFirst = false, limit = 100 } = query;
  const { first, below } = idRange(query);
  // Only parked and rejected deliveries have a reason.
  const asked = states.filter(
    (state) => isChosen(state, query.state) && (reason === undefined || few.includes(state)),
  );
  assertSearchable(query, asked);
  const where = new Map<string, ReceiverQueues>();
  const sorted = (): string[] => {
    const ids = [...where.keys()].sort();
    return newestFirst ? ids.reverse() : ids;
  };
  const chosenById = (type ?? reportId ?? requestId ?? reason ?? error) === undefined;
  // With enough newer ones, older ones need not be read.
  const enough = (): number => (newestFirst && chosenById ? timeOf(sorted()[limit - 1] ?? "") : 0);
  for (const queues of all) {
    for (const state of asked) {
      const found = (id: string): void => {
        if (id >= first && id < below) where.set(id, queues);
      };
      if (state === "verified") (await handledAtOnce(queues)).forEach(found);
      await eachId(queues, state, found, () => Math.max(query.from?.getTime() ?? 0, enough()));
    }
  }
  const ids = sorted();
  const entries: Entry[] = [];
  for (let from = 0; from < ids.length && entries.length < limit; from += pageSize) {
    const page = ids.slice(from, from + pageSize);
    const found = await Promise.all(page.map((id) => where.get(id)?.find(id)));
    for (const one of found) {
      if (one === null || one === undefined) continue;
      const { stored } = one.jobState;
      const fits =
        asked.includes(stored.state) &&
        (type === undefined || type === stored.type) &&
        (reportId === undefined || reportId === stored.reportId) &&
        (requestId === undefined || requestId === stored.requestId) &&
        (reason === undefined || reason === stored.reason?.code) &&
        (error === undefined || error === stored.error);
      if (fits) entries.push(entryOf(stored, wallOffset));
    }
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
  assertSearchable({ error: "" }, asked);
  const groups = new ErrorGroups();
  for (const queues of all) {
    const found = new Set<string>();
    for (const state of asked) await eachId(queues, state, (id) => found.add(id));
    const ids = [...found];
    for (let from = 0; from < ids.length; from += pageSize) {
      const page = ids.slice(from, from + pageSize).map((id) => queues.find(id));
      for (const one of await Promise.all(page)) {
        if (one !== null) groups.addStored(one.jobState.stored, query);
      }
    }
  }
  return groups.list();
}
