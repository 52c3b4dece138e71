import type { WireDelivery } from "../src/wire.ts";
import { reasonWithCode } from "./words.ts";

/** One step of a delivery's way. */
export interface Step {
  /** When it began; null when nobody noted it. */
  readonly at: string | null;
  readonly title: string;
  readonly tone: "good" | "bad" | "plain" | "next";
  /** How long it took, in milliseconds. */
  readonly ms: number | null;
  readonly detail: string | null;
}

type Attempt = WireDelivery["history"][number];

/** A delivery's way, in order, and what comes next. */
export function timelineOf(delivery: WireDelivery): readonly Step[] {
  const { receivedAt, ackMs, verification, history } = delivery;
  const plain = { tone: "plain", ms: null, detail: null } as const;
  const steps: Step[] = [
    { ...plain, at: receivedAt, title: "Received" },
    {
      ...plain,
      at: later(receivedAt, ackMs),
      title: "Handed to the inbox after",
      tone: "good",
      ms: ackMs,
    },
  ];
  if (verification === "unsigned") {
    steps.push({ ...plain, at: null, title: "Came without a signature: no verdict was asked for" });
  }
  let number = 0;
  let wasParked = false;
  for (const attempt of history) {
    if (wasParked) {
      number = 0;
      steps.push({ ...plain, at: null, title: "Released by a person" });
    }
    wasParked = attempt.outcome === "held" || attempt.outcome === "dead";
    if (attempt.stage === "handle") number++;
    steps.push(stepOf(attempt, number, delivery));
  }
  return [...steps, ...nextOf(delivery, wasParked)];
}

function stepOf(attempt: Attempt, number: number, { verification, reason }: WireDelivery): Step {
  const { stage, at, ms, outcome, error } = attempt;
  const titled = (title: string, tone: Step["tone"]): Step => ({
    at,
    ms,
    tone,
    title,
    detail: error,
  });
  if (stage === "verify") {
    if (outcome === "again") return titled("Asked the service: no verdict", "bad");
    if (outcome === "verified") {
      return titled(`Asked the service: ${verification ?? "valid"}`, "good");
    }
    if (outcome === "rejected") return titled("Asked the service: not from the service", "bad");
    const why = reason === null ? "" : `: ${reasonWithCode(reason.code)}`;
    return titled(`Asked the service: parked${why}`, "bad");
  }
  if (outcome === "handled") return titled(`Handled at attempt ${number}`, "good");
  if (outcome === "again") return titled(`Attempt ${number} failed`, "bad");
  return titled(`Attempt ${number}: parked as ${outcome}`, "bad");
}

function nextOf(delivery: WireDelivery, wasParked: boolean): Step[] {
  const { state, nextAttemptAt, reason } = delivery;
  const next = { tone: "next", ms: null, detail: null } as const;
  if (nextAttemptAt !== null) {
    const what = state === "received" ? "the service is asked" : "your handlers run";
    const released: Step[] = wasParked
      ? [{ ...next, tone: "plain", at: null, title: "Released by a person" }]
      : [];
    return [...released, { ...next, at: nextAttemptAt, title: `Next: ${what}` }];
  }
  if (state !== "held" && state !== "dead") return [];
  const why = reason === null ? "" : `: ${reasonWithCode(reason.code)}`;
  return [{ ...next, at: null, title: `Waits for a person${why}` }];
}

function later(at: string, ms: number): string {
  return new Date(new Date(at).getTime() + ms).toISOString();
}
