import type { OverdueEvent } from "../events/events.ts";
import { dedupeKey } from "../inbox/dedupe-key.ts";
import type { Job, NewDelivery } from "../inbox/delivery.ts";
import { newId } from "../inbox/id.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { StoredRequest } from "../inbox/request-store.ts";
import type { ReceiverClock } from "../lib/time/lived-clock.ts";
import type { KnownRequests } from "./known-requests.ts";
import { contextIn, isSettled, told } from "./request.ts";

/** The parts of a receiver that add deliveries itself. */
export interface OwnSource {
  readonly inbox: Inbox;
  readonly name: string;
  readonly clock: Pick<ReceiverClock, "now" | "wallNow">;
}

/** A final status that a person tells. */
export type FinalStatus = "complete" | "internal_error";

const nothing = /* @__PURE__ */ new Uint8Array();

/** Stores a final status that did not come as a notification, once; resolves to whether it changed anything. */
export async function addSettled(
  origin: OwnSource,
  requests: KnownRequests,
  request: StoredRequest,
  status: FinalStatus,
  body: Uint8Array,
): Promise<boolean> {
  const type = `report.${status}` as const;
  // The delivery that told it before was discarded.
  const isFree = request.state === status && request.claims[type]?.done === false;
  if (isSettled(request) && !isFree) return false;
  const { reportId } = request;
  const delivery = await ownDelivery(origin, request, type, body);
  const recognized = { type, reportId };
  const arrival = { to: "verified", verification: "settled", ...recognized } as const;
  const { id, status: added } = await origin.inbox.add(delivery, arrival);
  // The handle stage may have been first to claim it.
  const claim = await requests.claim(request.id, type, id, reportId, true);
  return added === "added" && claim?.request.claims[type]?.by === id;
}

/** Stores that a request is overdue, once, then notes in the request that it was told. */
export async function addOverdue(
  origin: OwnSource,
  requests: KnownRequests,
  request: StoredRequest,
): Promise<void> {
  const type = "report.overdue";
  const { reportId } = request;
  const delivery = await ownDelivery(origin, request, type, nothing);
  await origin.inbox.add(delivery, { to: "verified", verification: null, type, reportId });
  await requests.change(request.id, (read) => told(read, origin.clock.wallNow()));
}

/** Makes the event of a delivery that {@link addOverdue} has stored. */
export function overdueEvent(
  { id, receivedAt }: Pick<Job, "id" | "receivedAt">,
  request: StoredRequest,
): OverdueEvent {
  const { id: requestId, report, answer, reportId, dates } = request;
  return {
    ...{ id, type: "report.overdue", requestId, report, answer, reportId, receivedAt },
    context: contextIn(request),
    requestedAt: new Date(dates.requestedAt),
    dueAt: new Date(dates.dueAt),
    confirmed: dates.confirmedAt !== null,
    lastStatus: dates.processingAt === null ? null : "processing",
    ...{ eventType: null, verification: null, body: null },
  };
}

/** A delivery of the receiver itself: two of the same type and request have the same key. */
async function ownDelivery(
  { name, clock }: OwnSource,
  { id: requestId }: StoredRequest,
  type: string,
  body: Uint8Array,
): Promise<NewDelivery> {
  const receivedAt = clock.wallNow();
  // No header can carry a line feed: no notification has such a signature.
  const source = { receiver: name, signature: `${type}\n${requestId}`, url: "", body: nothing };
  return {
    id: newId(receivedAt),
    receiver: name,
    receivedAt,
    arrivedAt: clock.now(),
    key: await dedupeKey(source),
    signature: null,
    url: "",
    context: null,
    requestId,
    headers: {},
    body,
  };
}
