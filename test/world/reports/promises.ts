import type { EntryDetails, RequestRecord } from "@reporthook/core";
import { requestStates } from "@reporthook/core/store";
import type { Contents } from "../product/app.ts";
import type { Notification } from "../surroundings/notification.ts";
import type { World } from "../world.ts";
import { notForward } from "./look.ts";
import { type Asked, idOf, isRefused, type Wish } from "./wish.ts";

const final = ["report.complete", "report.internal_error"];

/** The end of a world, against which the promises about requests are checked. */
interface Ended extends Contents {
  readonly world: World;
  /** The ids of the deliveries whose handlers have all succeeded. */
  readonly succeeded: ReadonlySet<string>;
}

/** Each promise about requests that is broken, once everything has come to its end. */
export function brokenReports(
  world: World,
  contents: Contents,
  succeeded: ReadonlySet<string>,
): string[] {
  const { requests, requestCounts } = contents;
  if (requestCounts === null) return [];
  const ended = { ...contents, world, succeeded };
  const overdue = requests.filter((one) => one.overdueAt !== null && one.settledAt === null);
  return [
    ...notForward(world, requests),
    ...world.ledger.wishes.all.flatMap((wish) => ofWish(ended, wish)),
    ...requests.flatMap((request) =>
      [
        ...ofOrigin(ended, request),
        ...ofEnd(ended, request),
        ...ofTelling(ended, request),
        ...[...final, "report.processing", "report.overdue"].flatMap((type) =>
          ofType(ended, request, type),
        ),
      ].map((broken) => `${request.id} (${request.state}) ${broken}`),
    ),
    ...requestStates.flatMap((state) => {
      const listed = requests.filter((one) => one.state === state).length;
      const counted = requestCounts[state];
      return counted === listed ? [] : [`${counted} requests counted, ${listed} ${state}`];
    }),
    ...(requestCounts.overdue === overdue.length ? [] : ["overdue ones are counted wrongly"]),
    ...ofSettling(ended),
  ];
}

/** A request that the service may have is there, with its answer; one that was refused is not. */
function ofWish({ requests }: Ended, { w, asked, calls, key }: Wish): string[] {
  const own = requests.filter((one) => one.report.domains?.[0] === `w${w}.example`);
  const isThere = (id: string | undefined): boolean => own.some((one) => one.id === id);
  const open = calls.filter((call) => !isRefused(call));
  return [
    ...open.filter(({ id }) => !isThere(id)).map(({ id }) => `w=${w}: ${id} was sent and is lost`),
    ...asked.flatMap((one) => {
      const { outcome } = one;
      const id = idOf(one);
      if (outcome === null || id === undefined) return [];
      const status = "status" in outcome ? outcome.status : null;
      const answer = own.find((record) => record.id === id)?.answer?.status;
      return status === null || answer === status
        ? []
        : [`w=${w}: ${id} has another answer: ${answer}`];
    }),
    ...(own.length > 0 && asked.every(isRefusal) ? [`w=${w} was refused and is kept`] : []),
    ...(key !== null && own.length > 1 ? [`w=${w} has ${own.length} requests with one key`] : []),
  ];
}

/** Whether a call has said that the service has nothing of it. */
function isRefusal({ outcome }: Asked): boolean {
  if (outcome === null || !("error" in outcome)) return false;
  const { code, requestId } = outcome.error as {
    readonly code?: string;
    readonly requestId?: string;
  };
  return code?.startsWith("service_") === true && requestId === undefined;
}

/** It is what its wish asks for. */
function ofOrigin({ world }: Ended, request: RequestRecord): string[] {
  const wish = world.ledger.wishes.of(request.report);
  const isOwn =
    request.idempotencyKey === wish?.key &&
    JSON.stringify(request.context) === JSON.stringify(wish.context);
  return isOwn ? [] : ["is what nobody asked for"];
}

/** Its state is what genuine notifications and people have told, and nobody else. */
function ofEnd(ended: Ended, request: RequestRecord): string[] {
  const { id, state, confirmedAt, processingAt, settledAt, overdueAt, answer, reportId } = request;
  const { ledger } = ended.world;
  const isSettled = state === "complete" || state === "internal_error";
  const genuine = genuineOf(ended, id);
  const settlings = ledger.wishes.settlings.filter((one) => one.id === id);
  const told = [
    ...genuine.map(({ about }) => about?.status),
    ...settlings.map((one) => one.status),
  ];
  // A person's word confirms nothing.
  const isByHand = isSettled && settlings.length > 0;
  const handled = final.filter((type) => deliveriesOf(ended, id, type).some(isDone));
  return [
    ...(settledAt === null && overdueAt === null ? ["has come to no end"] : []),
    ...(isSettled === (settledAt !== null) ? [] : ["has a date that its state lacks"]),
    ...(isSettled && !told.includes(state) ? ["has an end that nobody told"] : []),
    ...(!isSettled && handled.length > 0 ? [`is not settled by ${handled.join(", ")}`] : []),
    ...(processingAt !== null && !told.includes("processing") ? ["is not being processed"] : []),
    ...((state === "unconfirmed") === (confirmedAt === null) || isByHand
      ? []
      : ["is confirmed or is not"]),
    ...(confirmedAt !== null && answer === null && genuine.length === 0
      ? ["nobody confirmed"]
      : []),
    ...(reportId === null || genuine.some(({ n }) => `n=${n}` === reportId)
      ? []
      : ["has the id of another report"]),
  ];
}

/** Each event of a request is handled by one delivery, and by no other one. */
function ofType(ended: Ended, request: RequestRecord, type: string): string[] {
  const { discarded } = ended.world.ledger.wishes;
  const own = deliveriesOf(ended, request.id, type);
  const done = own.filter(({ id }) => ended.succeeded.has(id) && !discarded.has(id));
  const isEnded = own.some((one) => isDone(one) || one.state === "dead");
  const isBrought =
    type === `report.${request.state}` || own.some(({ lastError }) => earlier(lastError));
  const isFreed = [...discarded.values()].includes(request.id);
  const unfounded = own.filter(isRepeat).filter(({ lastError }) => {
    const by = earlier(lastError);
    if (by === undefined)
      return request.settledAt === null || !/ the request was /.test(lastError ?? "");
    return !own.some(({ id }) => id === by) && !discarded.has(by);
  });
  return [
    ...(done.length > 1 ? [`had ${type} handled by ${done.map(({ id }) => id).join(", ")}`] : []),
    ...(isBrought && !isEnded && !isFreed ? [`had ${type} handled by none`] : []),
    ...unfounded.map(({ id, lastError }) => `has in ${id} no repetition: ${lastError}`),
  ];
}

/** The delivery that one repeats. */
function earlier(lastError: string | null): string | undefined {
  return /it repeats (\S+)$/.exec(lastError ?? "")?.[1];
}

/** It is told as overdue once, when it is due. */
function ofTelling({ world, entries }: Ended, request: RequestRecord): string[] {
  const { id, dueAt, overdueAt } = request;
  const told = entries.filter((one) => one.requestId === id && one.type === "report.overdue");
  const isDiscarded = [...world.ledger.wishes.discarded.values()].includes(id);
  if (overdueAt === null) {
    return told.every(isRepeat) ? [] : ["was told as overdue, and does not say so"];
  }
  if (told.length === 0) return isDiscarded ? [] : ["was told as overdue to nobody"];
  // To a process that begins with a wrong clock, a day may have passed.
  if (world.setup.hasWrongClocks) return [];
  const isEarly = overdueAt < dueAt || told.some(({ receivedAt }) => receivedAt < dueAt);
  return [
    ...(told.length > 1 ? [`was told as overdue ${told.length} times`] : []),
    ...(isEarly ? ["was told as overdue too early"] : []),
  ];
}

/** Of all who settle a request alike, the one whose delivery is stored is told that it has changed something. */
function ofSettling({ world, succeeded, entries }: Ended): string[] {
  const { settlings, discarded } = world.ledger.wishes;
  return settlings.flatMap(({ id, notification, hasChanged, status }) => {
    const alike = settlings.filter((one) => one.id === id && one.status === status);
    const changed = alike.filter((one) => one.hasChanged);
    const isFreed = [...discarded.values()].includes(id);
    const isHandled = entries.some(
      (entry) => succeeded.has(entry.id) && (entry.body ?? "").includes(`"n=${notification.n}"`),
    );
    return [
      ...(hasChanged === false && isHandled ? [`${id} was settled as ${status} in silence`] : []),
      ...(changed.length > 1 && !isFreed ? [`${id} was settled as ${status} twice`] : []),
    ];
  });
}

function deliveriesOf({ entries }: Ended, id: string, type: string): EntryDetails[] {
  return entries.filter((one) => one.requestId === id && one.type === type);
}

function genuineOf({ world }: Ended, id: string): Notification[] {
  const { notifications } = world.ledger;
  return notifications.filter((one) => one.about?.id === id && isVouchedFor(one));
}

function isVouchedFor({ kind }: Notification): boolean {
  return kind !== "forged" && kind !== "unsigned" && kind !== "shunned";
}

function isDone(entry: EntryDetails): boolean {
  return entry.state === "handled" && !isRepeat(entry);
}

/** Whether no handler ran for it, for its request needs none. */
export function isRepeat({ requestId, lastError }: EntryDetails): boolean {
  return requestId !== null && lastError?.startsWith("no handler ran: ") === true;
}
