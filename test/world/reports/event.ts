import type { EventOf } from "@reporthook/core";
import type { Ledger } from "../ledger.ts";
import { type Notification, numberIn } from "../surroundings/notification.ts";
import type { Wish, Wishes } from "./wish.ts";

/** The number of the notification that an event is of, or that stands for one; -1 if there is none. */
export function numberOf({ wishes }: Ledger, event: EventOf): number {
  if (event.type !== "report.overdue") return numberIn(JSON.stringify(event.body)) ?? -1;
  return wishes.of(event.report)?.overdue.n ?? -1;
}

/** The faults of an event: it is of another request, or has the context of another. */
export function wrongIn(event: EventOf, notification: Notification, wishes: Wishes): string[] {
  const { n, about } = notification;
  if (!("requestId" in event)) return [];
  const { requestId, context } = event;
  if (event.type === "report.overdue") {
    // It may never have been sent.
    const wish = wishes.withRequest(requestId) ?? wishes.of(event.report);
    notification.ids.add(event.id);
    return [
      ...(wish?.overdue === notification ? [] : [`n=${n} is of another request`]),
      ...ofContext(n, context, wish),
    ];
  }
  const told = wishes.settlings.find((one) => one.notification === notification)?.id;
  const id = about?.id ?? told ?? null;
  const type = about === null ? event.type : `report.${about.status}`;
  return [
    ...(requestId === id ? [] : [`n=${n} is of the request ${id}, not of ${requestId}`]),
    ...(event.type === type ? [] : [`n=${n} is ${type}, not ${event.type}`]),
    ...ofContext(n, context, wishes.withRequest(id)),
  ];
}

function ofContext(n: number, context: unknown, wish: Wish | undefined): string[] {
  const [given, own] = [JSON.stringify(context), JSON.stringify(wish?.context ?? undefined)];
  return given === own ? [] : [`n=${n} has the context ${given}, not ${own}`];
}
