import type { WireDelivery } from "../../src/deliveries/wire.ts";
import { reasonWithCode } from "../labels.ts";

/** One step of a delivery's way. */
export interface TimelineStep {
  /** When it began; null if that is not recorded. */
  readonly at: string | null;
  readonly title: string;
  readonly tone: "good" | "bad" | "plain" | "next";
  /** How long it took, in milliseconds. */
  readonly ms: number | null;
  readonly detail: string | null;
  /** How many attempts in a row were alike: they are one step, with the details of the last. */
  readonly alike?: number;
  /** When the last of them began. */
  readonly until?: string;
}

/** How came what the service is not asked about. */
const origins: Readonly<Record<string, string>> = {
  unsigned: "Came without a signature: no verdict was asked for",
  settled: "A person settled the report: no notification brought it",
  overdue: "The receiver tells it: no notification came",
};

type Item = WireDelivery["history"][number];
type Attempt = Extract<Item, { readonly stage: string }>;

const acts = { release: "Released", retry: "Retried", erase: "Erased" };

/** The history of a delivery, in order, and its next step. */
export function timelineOf(delivery: WireDelivery): readonly TimelineStep[] {
  const { receivedAt, verification, history } = delivery;
  const plain = { tone: "plain", ms: null, detail: null } as const;
  const steps: TimelineStep[] = [{ ...plain, at: receivedAt, title: "Received", tone: "good" }];
  const how = origins[delivery.type === "report.overdue" ? "overdue" : (verification ?? "")];
  if (how !== undefined) steps.push({ ...plain, at: null, title: how });
  const released = history.findLastIndex((item) => "act" in item && item.act === "release");
  const notKept = triedBefore(history.slice(released + 1), delivery);
  let number = released < 0 ? notKept : 0;
  for (const [first, ...others] of alikeIn(history)) {
    if ("act" in first) {
      if (first.act === "release") number = first === history[released] ? notKept : 0;
      const title = `${acts[first.act]} by ${first.by ?? "a person"}`;
      steps.push({ ...plain, at: first.at, title });
      continue;
    }
    const before = number + 1;
    const last = (others.at(-1) ?? first) as Attempt;
    number += isTry(first) ? others.length + 1 : 0;
    const name = others.length === 0 ? `Attempt ${number}` : `Attempts ${before} to ${number}`;
    const step = stepOf(last, name, delivery);
    steps.push(
      others.length === 0
        ? step
        : { ...step, at: first.at, ms: null, alike: others.length + 1, until: last.at },
    );
  }
  return [...steps, ...nextOf(delivery)];
}

/** Attempts in a row with the same result and the same first line of the error: an outage may leave twenty. */
function alikeIn(items: readonly Item[]): readonly [Item, ...Item[]][] {
  const groups: [Item, ...Item[]][] = [];
  const kind = (item: Item): string =>
    "act" in item ? item.at : `${item.stage} ${item.outcome} ${item.error?.split("\n", 1)}`;
  for (const item of items) {
    const group = groups.at(-1);
    if (group !== undefined && kind(group[0]) === kind(item)) group.push(item);
    else groups.push([item]);
  }
  return groups;
}

/** Whether the handlers ran: an attempt cut off by a shutdown does not count. */
function isTry(item: Item): boolean {
  if ("act" in item || item.stage !== "handle") return false;
  return !(item.outcome === "retry" && item.error === "stopped");
}

/** The number of attempts since the last release before the kept ones. */
function triedBefore(items: readonly Item[], { attempts }: WireDelivery): number {
  const last = items.findLast((item) => "stage" in item);
  return last?.stage === "handle" ? Math.max(0, attempts - items.filter(isTry).length) : 0;
}

function stepOf(
  attempt: Attempt,
  name: string,
  { verification, reason }: WireDelivery,
): TimelineStep {
  const { stage, at, ms, outcome, error } = attempt;
  const titled = (title: string, tone: TimelineStep["tone"]): TimelineStep => ({
    at,
    ms,
    tone,
    title,
    detail: error,
  });
  if (stage === "verify") {
    if (outcome === "retry") return titled("Asked the service: no verdict", "bad");
    if (outcome === "verified") {
      return titled(`Asked the service: ${verification ?? "valid"}`, "good");
    }
    if (outcome === "rejected") return titled("Asked the service: not from the service", "bad");
    const why = reason === null ? "" : `: ${reasonWithCode(reason.code)}`;
    return titled(`Asked the service: parked${why}`, "bad");
  }
  if (outcome === "handled") {
    if (error !== null) return { ...titled(`Handled: ${error}`, "plain"), detail: null };
    return titled(`Handled at ${name.toLowerCase()}`, "good");
  }
  if (!isTry(attempt)) return titled("Cut off by a shutdown", "plain");
  if (outcome === "retry") return titled(`${name} failed`, "bad");
  return titled(`${name}: parked as ${outcome}`, "bad");
}

function nextOf({ state, nextAttemptAt, reason }: WireDelivery): TimelineStep[] {
  const next = { tone: "next", ms: null, detail: null } as const;
  if (nextAttemptAt !== null) {
    const what = state === "received" ? "the service is asked" : "your handlers run";
    return [{ ...next, at: nextAttemptAt, title: `Next: ${what}` }];
  }
  if (state !== "held" && state !== "dead") return [];
  const why = reason === null ? "" : `: ${reasonWithCode(reason.code)}`;
  return [{ ...next, at: null, title: `Waits for a person${why}` }];
}
