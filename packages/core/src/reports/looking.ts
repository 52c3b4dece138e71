import { ReporthookError } from "../errors.ts";
import type { OfReceiver } from "../inbox/receiver-inbox.ts";
import type { Life } from "../inbox/receivers.ts";
import { requestStates, type StoredRequest } from "../inbox/request-store.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { Timekeeper } from "../lib/time/timekeeper.ts";
import { assertKnownKeys, assertOption } from "../lib/validate.ts";
import { KnownRequests } from "./known-requests.ts";
import { addSettled } from "./own-deliveries.ts";
import type { ReportRequests } from "./reports-type.ts";
import { requestRecordOf } from "./request.ts";

type Query = NonNullable<Parameters<ReportRequests["list"]>[0]>;

/** The part of {@link ReportRequests} for which no receiver has to run. */
export interface StoredReports extends Pick<ReportRequests, "get" | "counts" | "settle"> {
  /** Oldest first, unless a tool wants the newest first. */
  list(
    query?: Query & { readonly newestFirst?: boolean | undefined },
  ): ReturnType<ReportRequests["list"]>;
}

const ends = ["complete", "internal_error"];

/** Makes that part, for a receiver or for a tool without one. */
export function storedReports(
  { inbox, name, clock, time = new Timekeeper(new LivedClock(clock), inbox) }: OfReceiver,
  requests: KnownRequests = new KnownRequests(inbox, name, time.clock),
  ready: () => Promise<void> = () => time.join(),
): StoredReports {
  const ask = async <T>(query: (store: NonNullable<typeof inbox.requests>) => Promise<T>) => {
    const store = inbox.requests;
    if (store === undefined) throw new TypeError(keepsNone);
    await ready();
    return query(store);
  };
  return {
    get: async (id) => {
      checkId("get", id);
      const found = await ask(() => requests.find(id));
      return found === null ? null : requestRecordOf(found);
    },
    list: async (query = {}) => {
      assertKnownKeys("reports.list", query, ["state", "newestFirst", "limit", "after"]);
      const { state, newestFirst, limit = 100, after } = query;
      const isState = state === undefined || state === "overdue" || requestStates.includes(state);
      const expected = `overdue or one of ${requestStates.join(", ")}`;
      assertOption("reports.list: state", expected, state, isState);
      const isCount = Number.isInteger(limit) || limit === Number.POSITIVE_INFINITY;
      const many = "an integer from 1, or Infinity";
      assertOption("reports.list: limit", many, limit, isCount && limit >= 1);
      if (after !== undefined) checkId("list: after", after);
      const found = await ask((store) =>
        store.list({ receiver: name, state, newestFirst, limit, after }),
      );
      return found.map(requestRecordOf);
    },
    counts: () => ask((store) => store.counts(name)),
    settle: async (id, status, options = {}) => {
      checkId("settle", id);
      const expected = ends.join(" or ");
      assertOption("reports.settle: status", expected, status, ends.includes(status));
      assertKnownKeys("reports.settle", options, ["body"]);
      const body = bytesOf(options.body ?? {});
      return ask(async () => {
        const request = found(await requests.find(id), id);
        return addSettled({ inbox, name, clock: time.clock }, requests, request, status, body);
      });
    },
  };
}

/** The text for an inbox without requests. */
export const keepsNone =
  "receiver.reports: this inbox keeps no requests. Give createReceiver another one as inbox, such as sqliteInbox(path), or bullmqInbox on Redis";

/** @throws ReporthookError `closed` */
export function assertOpen({ phase }: Life, name: string): void {
  if (phase !== "closed") return;
  throw new ReporthookError("closed", `Receiver ${name} is closed: its reports are asked no more`);
}

/** @throws ReporthookError `not_found` */
export function found(request: StoredRequest | null, id: string): StoredRequest {
  if (request !== null) return request;
  throw new ReporthookError("not_found", `No request with the id ${id}`);
}

/** @throws TypeError unless it is text */
export function checkId(method: string, id: unknown): void {
  assertOption(`reports.${method}: id`, "a string", id, typeof id === "string");
}

function bytesOf(body: object): Uint8Array {
  const isObject = typeof body === "object" && !Array.isArray(body);
  assertOption("reports.settle: body", "an object", body, isObject);
  return new TextEncoder().encode(JSON.stringify(body));
}
