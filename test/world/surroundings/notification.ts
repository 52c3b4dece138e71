import type { Chance } from "./chance.ts";

/** The kind of a notification, which its world knows and the receiver has to find out. */
export type Kind =
  | "genuine"
  /** Genuine, and of no known shape. */
  | "unknown"
  /** Genuine, and no JSON. */
  | "garbled"
  /** Genuine, with the signature of another one. */
  | "reused"
  /** Genuine, and sent when its signature is too old. */
  | "late"
  /** Genuine, but the service answers 404 when it is asked about it. */
  | "misjudged"
  | "forged"
  /** Forged, and something on the way refuses it, fails on it or is silent about it. */
  | "shunned"
  | "unsigned"
  | "test"
  /** No notification: the receiver tells it itself, or a person. */
  | "told";

/** The part of a report in a notification. */
export interface About {
  /** The id of its request; null if none has its address. */
  readonly id: string | null;
  readonly url: string;
  readonly status: (typeof statuses)[number];
}

/** A handler's deed at one attempt. */
export type Deed = "succeed" | "dawdle" | "throw" | "hang" | "do-not-retry" | "retry-after";

/** A notification, and what its world knows of it. */
export interface Notification {
  readonly n: number;
  readonly kind: Kind;
  readonly signature: string | null;
  /** Milliseconds since the epoch. */
  readonly triggeredAt: number;
  readonly body: string;
  /** Null unless it is sent to the address of a request. */
  readonly about: About | null;
  /** The deeds of handlers, attempt by attempt; the last one is for all that follow. */
  readonly deeds: readonly Deed[];
  /** The ids in its acknowledgements, and the time of the first one. */
  readonly ids: Set<string>;
  acknowledgedAt: number | null;
}

/** How often each kind comes. */
export type Kinds = Readonly<Record<Exclude<Kind, "shunned" | "told">, number>>;

const statuses = ["processing", "complete", "internal_error"] as const;
const deeds = { succeed: 60, dawdle: 15, throw: 15, hang: 2, "do-not-retry": 3, "retry-after": 5 };
const lateMs = 310_000;

/** The parts of a new notification. */
interface NewNotification {
  readonly n: number;
  readonly kind: Kind;
  readonly now: number;
  readonly before: readonly Notification[];
  readonly about?: About | null;
}

/** Makes the next notification. */
export function newNotification(
  chance: Chance,
  { n, kind, now, before, about = null }: NewNotification,
): Notification {
  const other = before.filter((one) => one.kind === "genuine").at(-1);
  const reused = kind === "reused" && other !== undefined ? other : null;
  const isSigned = kind !== "unsigned" && kind !== "test" && kind !== "told";
  const own = !isSigned ? null : `s-${n}-${chance.below(1e9)}`;
  const triggeredAt = reused?.triggeredAt ?? (kind === "late" ? now - lateMs : now);
  return {
    n,
    kind,
    triggeredAt,
    about,
    body: bodyOf(chance, n, kind, about),
    deeds: deedsOf(chance),
    signature: reused?.signature ?? own,
    ids: new Set(),
    acknowledgedAt: null,
  };
}

/** Whether the service has made it. */
export function isGenuine({ kind }: Notification): boolean {
  return kind !== "forged" && kind !== "shunned" && kind !== "unsigned" && kind !== "test";
}

/** The number in a body of any shape; null when it holds none. */
export function numberIn(body: string): number | null {
  const found = /n=(\d+)/.exec(body)?.[1];
  return found === undefined ? null : Number(found);
}

function bodyOf(chance: Chance, n: number, kind: Kind, about: About | null): string {
  const id = `n=${n}`;
  if (kind === "garbled") return `not JSON: ${id}`;
  if (kind === "unknown") return JSON.stringify({ surprise: id });
  if (kind === "test") return JSON.stringify({ event_type: "test_webhook_endpoint", payload: id });
  const report = { status: about?.status ?? chance.one(statuses), report_id: id };
  return JSON.stringify(chance.yes(50) ? report : { event_type: "report", payload: report });
}

function deedsOf(chance: Chance): Deed[] {
  if (chance.yes(6)) return [chance.yes(50) ? "throw" : "retry-after"];
  const several = Array.from({ length: chance.below(3) }, () => chance.weighed<Deed>(deeds));
  return [...several, chance.yes(80) ? "succeed" : "dawdle"];
}
