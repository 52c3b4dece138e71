import type {
  Counts,
  ErrorGroup,
  EventType,
  InboxQuery,
  ReasonCode,
  Summary,
} from "@reporthook/core";
import {
  eventNames,
  hourMs,
  type InboxProcess,
  minuteMs,
  reasonCodes,
  states,
  sumOf,
  unvouchedReasons,
} from "@reporthook/core/store";
import { readableJson, redactText } from "./json-text.ts";
import { throttle } from "./shared-views.ts";
import { redactEntry, shownBody, shownDelivery } from "./shown.ts";
import type { ShownSource } from "./source.ts";
import { maxListLength, pageLength, type WireDelivery, type WireGroup } from "./wire.ts";

const weekMs = 604_800_000;
const mostGroups = 5;
const mostActs = 5;

const types = eventNames.filter((name): name is EventType => name !== "report" && name !== "*");

type ListQuery = Omit<InboxQuery, "receiver">;

/** Reads the data of a view, without those that every view has. */
type Read = () => Promise<object>;

/** The views of a dashboard. */
export interface Views {
  readonly overview: Read;
  list(query: URLSearchParams): Read;
  one(id: string): Read;
  /** The whole body of a delivery, or null when there is none. */
  body(id: string): Promise<string | null>;
}

/** Makes the views of a source's deliveries. */
export function createViews({ inbox, health, lookout }: ShownSource): Views {
  // They change slowly, and there are many.
  const hoursNow = throttle(() => inbox.hours(new Date(Date.now() - weekMs)), minuteMs);
  const numbersNow = throttle(async () => {
    const lastHour = { from: new Date(Date.now() - hourMs), until: new Date() };
    // With its moment before the groups: an act on one of these leaves later changes alone.
    const sum = await inbox.summary(lastHour);
    const groups = await inbox.errors();
    return { sum, groups, hours: await hoursNow(), acts: await inbox.acts({ limit: mostActs }) };
  });
  const countsNow = throttle(() => inbox.counts());
  return {
    async overview() {
      const { ready, inbox: state, service, counts, problems } = await health();
      const processes = (lookout?.processes ?? []).map(inSteps);
      const judged = { ready, inbox: state, service, problems, processes };
      // An inbox that fails is not asked for its reports either.
      if (!state.ok) return { ...judged, reports: null };
      const { sum, groups, hours, acts } = await numbersNow();
      const reasons = Object.keys(sum.parked) as ReasonCode[];
      const errors = Object.fromEntries(
        reasons.map((reason) => [reason, groupsOf(groups, { reason })]),
      );
      return { ...judged, counts, ...sum, hours, errors, acts };
    },
    list(query) {
      const length = lengthOf(query);
      const asked = inboxQuery(query);
      return async () => {
        const found = await inbox.list({ ...asked, newestFirst: true, limit: length + 1 });
        const counted = asked.state === "parked" ? await numbersNow() : null;
        const { parked = null, parkedChangedAt = null } = counted?.sum ?? {};
        const total = await totalOf(asked, parked, countsNow);
        const entries = found.slice(0, length).map(redactEntry);
        const groups = groupsOf(counted?.groups ?? [], asked);
        return { entries, more: found.length > length, total, parkedChangedAt, groups };
      };
    },
    one(id) {
      // A body never changes, and to lay it out costs more than all the rest.
      let laidOut: { readonly of: string | null; readonly body: WireDelivery["body"] } | undefined;
      return async () => {
        const details = await inbox.get(id);
        if (details === null) return { delivery: null };
        const { body } = details;
        if (laidOut?.of !== body) laidOut = { of: body, body: shownBody(body) };
        return { delivery: shownDelivery(details, laidOut.body) };
      };
    },
    async body(id) {
      const body = (await inbox.get(id))?.body ?? null;
      return body === null ? null : (readableJson(body) ?? redactText(body));
    },
  };
}

/** A process with the time of its last sign in steps, so that a page is told only in these. */
function inSteps(process: InboxProcess): InboxProcess {
  return { ...process, seenAt: new Date(Math.floor(process.seenAt.getTime() / 5_000) * 5_000) };
}

/** The largest groups of errors; of one reason, or with one key. */
function groupsOf(
  groups: readonly ErrorGroup[],
  { reason, error: key }: Pick<ListQuery, "reason" | "error">,
): WireGroup[] {
  return groups
    .filter(({ error }) => key === undefined || key === error)
    .map(({ error, text, count, reasons }) => ({
      error,
      text: redactText(text),
      count: reason === undefined ? count : (reasons[reason] ?? 0),
      releasable: count - unvouchedReasons.reduce((sum, one) => sum + (reasons[one] ?? 0), 0),
    }))
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.count - one.count)
    .slice(0, mostGroups);
}

/** How many fit a query; null where the inbox does not count that. `parked` are counted if it asks for parked ones. */
async function totalOf(
  { state, reason, ...others }: ListQuery,
  parked: Summary["parked"] | null,
  countsNow: () => Promise<Counts>,
): Promise<number | null> {
  if (Object.values(others).some((value) => value !== undefined)) return null;
  if (reason !== undefined) return parked === null ? null : (parked[reason] ?? 0);
  const counts = await countsNow();
  if (state === "parked") return counts.held + counts.dead;
  if (state !== undefined) return counts[state];
  return sumOf(counts);
}

/** The query in the page's address, without parts that it does not understand. */
function inboxQuery(query: URLSearchParams): ListQuery {
  const text = (name: string): string | undefined => query.get(name)?.trim() || undefined;
  const oneOf = <T extends string>(name: string, known: readonly T[]): T | undefined =>
    known.find((one) => one === text(name));
  return {
    state: oneOf("state", ["parked", ...states]),
    type: oneOf("event", types),
    reason: oneOf("reason", reasonCodes),
    reportId: text("report"),
    requestId: text("request"),
    error: text("error"),
    idPrefix: text("id")?.toLowerCase(),
    from: dateOf(text("from")),
    until: dateOf(text("until")),
  };
}

/** How many a list shows. */
export function lengthOf(query: URLSearchParams): number {
  const asked = Math.floor(Number(query.get("limit"))) || pageLength;
  return Math.min(Math.max(asked, pageLength), maxListLength);
}

function dateOf(text: string | undefined): Date | undefined {
  const date = new Date(text ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
