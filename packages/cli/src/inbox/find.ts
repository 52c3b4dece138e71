import type {
  EntryDetails,
  EventType,
  Inbox,
  InboxQuery,
  RequestStore,
  StoredRequest,
} from "@reporthook/core";
import { eventNames, getEntry, states } from "@reporthook/core/store";
import { type Command, InvalidArgumentError, type Option } from "commander";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { choiceOption, text } from "../lib/options.ts";

/** Filters for deliveries, as the options have them. */
export interface FilterOptions
  extends Pick<
    InboxQuery,
    "state" | "reason" | "type" | "reportId" | "requestId" | "error" | "until"
  > {
  readonly since?: Date;
}

const types = eventNames.filter((name): name is EventType => name !== "report" && name !== "*");
const dated = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/;
const unitsMs = { s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** Adds the filter options; `only` begins the description of each. */
export function withFilters(command: Command, only: string): Command {
  return command
    .addOption(choiceOption("--type <event>", `${only} of this event`, types))
    .option("--report-id <id>", `${only} of this report`, text)
    .option("--request-id <id>", `${only} of this request`, text)
    .option("--error <key>", `${only} with this key of an error, from inbox errors`, text)
    .option("--since <when>", `${only} received since: 30min, 2h, 7d or a date`, moment)
    .option("--until <when>", `${only} received before: a time span ago, or a date`, moment);
}

/** The option for a state of deliveries. */
export function stateOption(what: string): Option {
  return choiceOption("--state <state>", what, [...states, "parked"]);
}

/** The query of an inbox for filters. */
export function queryOf(filters: FilterOptions): InboxQuery {
  const { since, until, state, reason, type, reportId, requestId, error } = filters;
  if (since && until && since >= until) throw new UsageError("--since must be before --until");
  return { state, reason, type, reportId, requestId, error, from: since, until };
}

/** Parses a time span before now, or a date: without a zone it is UTC. */
function moment(given: string): Date {
  const [, count, unit = ""] = /^(\d{1,6})(s|m|min|h|d)$/.exec(given) ?? [];
  const [, day, time, zone = "Z"] = dated.exec(given) ?? [];
  const date =
    day === undefined
      ? new Date(Date.now() - Number(count) * unitsMs[unit as keyof typeof unitsMs])
      : new Date(`${day}T${time ?? "00:00"}${zone}`);
  // A date of no calendar, such as 30 February, would be another one.
  const isDay = day === undefined || new Date(day).getUTCDate() === Number(day.slice(-2));
  if (isDay && date.getTime() >= 0) return date;
  throw new InvalidArgumentError(
    "It must be a span like 30min, 2h or 7d, or a date like 2026-11-25 or 2026-11-25T14:00, in UTC.",
  );
}

const idLength = 26;
const maxNamed = 5;

/**
 * The whole id of the only one that begins so; null if there is none. `look` finds those that do.
 *
 * @throws CommandFailed `ambiguous_id`, which lists their ids, if there are several
 */
export async function wholeId(
  given: string,
  look: (idPrefix: string, limit: number) => Promise<readonly { readonly id: string }[]>,
): Promise<string | null> {
  const idPrefix = given.toLowerCase();
  if (idPrefix.length >= idLength) return idPrefix;
  const found = idPrefix === "" ? [] : await look(idPrefix, maxNamed + 1);
  if (found.length < 2) return found[0]?.id ?? null;
  const named = found.slice(0, maxNamed).map(({ id }) => id);
  const ids = named.join(", ") + (found.length > maxNamed ? " and others" : "");
  const message = `Several ids begin with ${given}: ${ids}; type more of the one you mean`;
  throw new CommandFailed("ambiguous_id", message);
}

/**
 * The whole id of a delivery.
 *
 * @throws CommandFailed `not_found`, or as {@link wholeId} does
 */
export async function findId(inbox: Inbox, given: string): Promise<string> {
  const id = await wholeId(given, (idPrefix, limit) => inbox.list({ idPrefix, limit }));
  return id ?? noSuch("delivery", given, "inbox list");
}

/**
 * Finds the delivery whose id begins so; of one receiver if it is named.
 *
 * @throws CommandFailed as {@link findId} does
 */
export async function findEntry(
  inbox: Inbox,
  given: string,
  receiver?: string,
): Promise<EntryDetails> {
  const id = await findId(inbox, given);
  return (await getEntry(inbox, id, receiver)) ?? noSuch("delivery", id, "inbox list");
}

/** @throws CommandFailed `no_requests` */
export function requestsOf({ requests }: Inbox): RequestStore {
  if (requests !== undefined) return requests;
  throw new CommandFailed("no_requests", "This inbox keeps no requests: only SQLite and Redis");
}

/**
 * The whole id of a request.
 *
 * @throws CommandFailed `not_found`, or as {@link wholeId} and {@link requestsOf} do
 */
export async function findRequestId(
  inbox: Inbox,
  given: string,
  receiver?: string,
): Promise<string> {
  const id = await wholeId(given, async (idPrefix, limit) => {
    const some = await requestsOf(inbox).list({ receiver, after: idPrefix, limit });
    return some.filter((one) => one.id.startsWith(idPrefix));
  });
  return id ?? noSuch("request", given, "reports list");
}

/**
 * Finds the request whose id begins so.
 *
 * @throws CommandFailed as {@link findRequestId} does
 */
export async function findRequest(
  inbox: Inbox,
  given: string,
  receiver?: string,
): Promise<StoredRequest> {
  const id = await findRequestId(inbox, given, receiver);
  return (await requestsOf(inbox).get(id, receiver)) ?? noSuch("request", given, "reports list");
}

function noSuch(what: "delivery" | "request", id: string, list: string): never {
  throw new CommandFailed("not_found", `No ${what} with the id ${id}: ${list} shows all`);
}
