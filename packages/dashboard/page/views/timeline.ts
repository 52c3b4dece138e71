import type { WireDelivery } from "../../src/deliveries/wire.ts";
import { reasonWithCode } from "../labels.ts";

/** One step of a delivery's way. */
export interface TimelineStep {
  /** When it began; null if that is not recorded. */
  readonly at: string | null;
  readonly title: string;
  readonly tone: "good" | "bad" | "plain" | "next";
  /** How long it took, in milliseconds. */
  readonly ms?: number;
  readonly detail?: string | null;
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
  const steps: TimelineStep[] = [{ at: receivedAt, title: "Received", tone: "good" }];
  const origin = origins[delivery.type === "report.overdue" ? "overdue" : (verification ?? "")];
  if (origin !== undefined) steps.push({ at: null, title: origin, tone: "plain" });
  const released = history.findLastIndex((item) => "act" in item && item.act === "release");
  const notKept = triedBefore(history.slice(released + 1), delivery);
  let number = released < 0 ? notKept : 0;
  for (const [first, ...others] of alikeIn(history)) {
    if ("act" in first) {
      if (first.act === "release") number = first === history[released] ? notKept : 0;
      const title = `${acts[first.act]} by ${first.by ?? "a person"}`;
      steps.push({ at: first.at, title, tone: "plain" });
      continue;
    }
    const from = number + 1;
    const last = (others.at(-1) ?? first) as Attempt;
    const { at: until, ms } = last;
    const alike = others.length + 1;
    if (isTry(first)) number += alike;
    const name = alike === 1 ? `Attempt ${number}` : `Attempts ${from} to ${number}`;
    const run = alike === 1 ? { ms } : { alike, until };
    steps.push({ at: first.at, ...run, ...told(last, name, delivery) });
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

/** The title of an attempt, or of several that were alike. */
function told(
  attempt: Attempt,
  name: string,
  { verification, reason }: WireDelivery,
): Pick<TimelineStep, "title" | "tone" | "detail"> {
  const { stage, outcome, error: detail } = attempt;
  if (stage === "verify") {
    const results: Readonly<Record<string, string>> = {
      retry: "no verdict",
      verified: verification ?? "valid",
      rejected: "rejected",
    };
    const title = `Asked the service: ${results[outcome] ?? `parked${why(reason)}`}`;
    return { title, tone: outcome === "verified" ? "good" : "bad", detail };
  }
  if (outcome === "handled") {
    return detail === null
      ? { title: `Handled at ${name.toLowerCase()}`, tone: "good" }
      : { title: `Handled: ${detail}`, tone: "plain" };
  }
  if (!isTry(attempt)) return { title: "Cut off by a shutdown", tone: "plain", detail };
  const end = outcome === "retry" ? " failed" : `: parked as ${outcome}`;
  return { title: name + end, tone: "bad", detail };
}

function nextOf({ state, nextAttemptAt, reason }: WireDelivery): TimelineStep[] {
  if (nextAttemptAt !== null) {
    const what = state === "received" ? "the service is asked" : "your handlers run";
    return [{ at: nextAttemptAt, title: `Next: ${what}`, tone: "next" }];
  }
  if (state !== "held" && state !== "dead") return [];
  return [{ at: null, title: `Waits for a person${why(reason)}`, tone: "next" }];
}

function why(reason: WireDelivery["reason"]): string {
  return reason === null ? "" : `: ${reasonWithCode(reason.code)}`;
}
