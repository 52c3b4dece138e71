import type { ReasonCode } from "../inbox/delivery.ts";

/** The subject of an alert: parked deliveries, a refused API key, a backlog, or a failing inbox. */
export type AlertKind = "parked" | "refused" | "backlog" | "inbox";

/** A message for the person who looks after a receiver; nothing in it is secret. */
export interface Alert {
  readonly kind: AlertKind;
  /** `firing` at the beginning, `resolved` once it is over. */
  readonly state: "firing" | "resolved";
  /** The name of the receiver. */
  readonly receiver: string;
  /** Why deliveries are parked; null for the other kinds. */
  readonly reason: ReasonCode | null;
  /** When it began. */
  readonly since: Date;
  /** The first sentence of `text`, for a subject. */
  readonly title: string;
  /** The problem, and where to look. */
  readonly text: string;
}

/** The facts that the sentences of an alert state. */
export interface AlertFacts extends Pick<Alert, "kind" | "state" | "receiver" | "reason"> {
  readonly since: number;
  readonly now: number;
  /** How many deliveries were parked, or wait; at the end of `parked`, how many retention has deleted. */
  readonly count: number;
  /** Age of the oldest waiting delivery, in milliseconds. */
  readonly oldestMs: number;
  /** The problem of the inbox. */
  readonly error: string;
}

/** Writes the sentences. */
export function alertOf(told: AlertFacts): Alert {
  const { kind, state, receiver, reason, since, now } = told;
  const [first, second] = state === "firing" ? firing(told) : [over(told), ""];
  const isDeleted = kind === "parked" && state === "resolved" && told.count > 0;
  const end = isDeleted ? "deleted" : "resolved";
  const after = state === "firing" ? "" : `${end} after ${duration(now - since)}: `;
  const title = `${receiver}: ${after}${first}.`;
  const text = second === "" ? title : `${title} ${second}`;
  return { kind, state, receiver, reason, since: new Date(since), title, text };
}

function firing({ kind, reason, count, oldestMs, error }: AlertFacts): [string, string] {
  if (kind === "parked") {
    const parked = `${deliveries(count, "was", "were")} parked as ${reason}`;
    return [parked, `Look: npx reporthook inbox list --reason ${reason}`];
  }
  if (kind === "refused") {
    const rest = "Signatures expire after 5 minutes. Check apiKey.";
    return ["the service refuses the API key, verification is paused", rest];
  }
  if (kind === "backlog") {
    const waiting = deliveries(count, "waits", "wait");
    const rest = "Handlers are too slow or fail, or the service gives no verdict.";
    return [`${waiting}, the oldest for ${duration(oldestMs)}`, rest];
  }
  return ["the inbox fails, notifications are answered 503", error];
}

function over({ kind, reason, count }: AlertFacts): string {
  if (kind === "parked" && count > 0) {
    return `${deliveries(count, "was", "were")} parked as ${reason} until the end of the retention`;
  }
  if (kind === "parked") return `no delivery is parked as ${reason} any more`;
  if (kind === "refused") return "the service accepts the API key again";
  if (kind === "backlog") return deliveries(count, "waits", "wait");
  return "the inbox works again";
}

function deliveries(count: number, one: string, many: string): string {
  return count === 1 ? `1 delivery ${one}` : `${count} deliveries ${many}`;
}

function duration(ms: number): string {
  const seconds = Math.round(Math.max(0, ms) / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`;
}
