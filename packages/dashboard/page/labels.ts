import type { Counts, Entry, ReasonCode, RequestState, State } from "@reporthook/core";
import type { WireReport } from "../src/deliveries/wire.ts";

interface StateLabel {
  readonly name: string;
  readonly meaning: string;
  readonly sign: string;
}

/** The name and meaning of each state. */
export const stateLabels: Readonly<Record<State, StateLabel>> = {
  received: { name: "Received", meaning: "waits for the service’s verdict", sign: "○" },
  verified: { name: "Verified", meaning: "waits for your handlers", sign: "◐" },
  handled: { name: "Handled", meaning: "nothing is left to do", sign: "✓" },
  held: { name: "Held", meaning: "waits for a decision", sign: "‖" },
  dead: { name: "Dead", meaning: "not retried until released", sign: "✕" },
  rejected: { name: "Rejected", meaning: "forged, or refused as too old", sign: "⊘" },
};

/** The state of a report: that of its request, or overdue. */
export type ReportState = RequestState | "overdue";

/** The name and meaning of each state of a report. */
export const reportLabels: Readonly<Record<ReportState, StateLabel>> = {
  unconfirmed: {
    name: "Unconfirmed",
    meaning: "the service may have the request, or not: look there",
    sign: "?",
  },
  open: { name: "Open", meaning: "the service has the request", sign: "○" },
  overdue: {
    name: "Overdue",
    meaning:
      "no final notification came in time, or none was valid. See what is parked, look the report up at the service, then settle it",
    sign: "!",
  },
  complete: { name: "Complete", meaning: "the report is there", sign: "✓" },
  internal_error: { name: "Error", meaning: "the service failed: internal_error", sign: "✕" },
};

/** The state of a report, as people call it. */
export function reportState({ state, settledAt, overdueAt }: WireReport): ReportState {
  return settledAt === null && overdueAt !== null ? "overdue" : state;
}

/** The name of each reason, and what to do about it. */
export const reasons: Readonly<
  Record<ReasonCode, { readonly name: string; readonly hint: string }>
> = {
  attempts_used_up: {
    name: "All attempts failed",
    hint: "Fix the handlers' error, then release. Discard what can't succeed.",
  },
  do_not_retry: {
    name: "A handler gave up",
    hint: "A handler threw DoNotRetry. Fix the cause, then release.",
  },
  no_handler: {
    name: "No handler for it",
    hint: "Register one for “unknown”, or recognize the shape in parse, then release.",
  },
  not_understood: {
    name: "Not understood",
    hint: "The body is not a JSON object: check for a proxy that rewrites bodies. Or the option parse or a schema failed: fix it, then release.",
  },
  schema_mismatch: { name: "Does not fit its schema", hint: "Fix the schema, then release." },
  not_verified: {
    name: "No verdict from the service",
    hint: "There was no verdict for an hour, or for other signatures only. Fix baseUrl or the connection. Check that the report is in your account, then release: the service is asked again, and your handlers run unless it says invalid.",
  },
  expired: {
    name: "Signature too old",
    hint: "The signature is genuine but was over 5 minutes old, and the body may be anybody’s. Check that the report is in your account, then release: your handlers run, and the service is not asked again.",
  },
  reused_signature: {
    name: "Signature came twice",
    hint: "The same signature came with other bytes, or at another address: one of the two may be forged. Compare both before you release.",
  },
  no_token: {
    name: "No callback token",
    hint: "It is genuine, but its URL has no token of this receiver. Was the report requested with a URL that was not signed, or with a secret that is gone? If its request is among the reports, settle that, and discard this. Else check that you requested it, then release: the handlers get no context.",
  },
  unsigned: {
    name: "No signature",
    hint: "Anybody may have sent it. Check that the report is in your account before you release it. If all are unsigned, set the option signature to the header that the log names.",
  },
  invalid_signature: {
    name: "Forged",
    hint: "The service did not make its signature. A single one needs no action. If all are rejected, fix apiKey or baseUrl at once, then have the service asked again: the newest 1,000 are kept for a day.",
  },
  poison: {
    name: "Ends the process",
    hint: "The process ended 5 times while it worked on this delivery, or on another one. Fix the crash, then release one at a time.",
  },
  erased: {
    name: "Erased",
    hint: "Somebody erased what it told before it counted as handled; a handler that ran at that moment may have succeeded. Discard it.",
  },
};

/** The names of events. */
export const events: readonly string[] = [
  "report.complete",
  "report.processing",
  "report.internal_error",
  "report.overdue",
  "test_webhook_endpoint",
  "unknown",
];

/** A reason's name with its code, which the command line, the log and the documentation use. */
export function reasonWithCode(code: string): string {
  const name = reasonName(code);
  return name === code ? name : `${name} (${code})`;
}

/** A reason's name; its code if a newer server sends an unknown one. */
export function reasonName(code: string): string {
  return Object.hasOwn(reasons, code) ? reasons[code as ReasonCode].name : code;
}

/** The advice for a reason; one that is rejected can't be released. */
export function reasonHint(code: string, state?: State): string {
  if (state === "rejected" && code === "expired") {
    return "The option expired refuses it. Have the service asked again: it is held then, and can be released.";
  }
  return Object.hasOwn(reasons, code) ? reasons[code as ReasonCode].hint : "";
}

/** The error of a delivery in one line: of its last attempt, else the message of its reason. Null when there is none. */
export function errorOf({ lastError, reason }: Pick<Entry, "lastError" | "reason">): string | null {
  const [line = ""] = (lastError ?? reason?.message ?? "").split("\n", 1);
  // Meanwhile the key may be right.
  const told = line.replace(
    /^The service refuses the API key/,
    "When last asked, the service refused the API key",
  );
  return told === "" ? null : told;
}

/** A delivery's event, as far as it is known. */
export function eventLabel({ type, reason }: Pick<Entry, "type" | "reason">): string {
  return type ?? (reason?.code === "not_understood" ? "not understood" : "not verified");
}

const number = new Intl.NumberFormat();
/** 1,234 */
export function count(value: number): string {
  return number.format(value);
}

/** The number of deliveries in all states. */
export function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, one) => sum + one, 0);
}

/** 1 delivery, 2 deliveries */
export function deliveries(value: number): string {
  return `${count(value)} ${value === 1 ? "delivery" : "deliveries"}`;
}

/** A duration: 3 ms, 1.2 s, 5 min, 3 h, 2 d. */
export function durationText(ms: number): string {
  if (ms < 1) return "under 1 ms";
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${Math.round(ms / 100) / 10} s`;
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.floor(ms / 3_600_000)} h`;
  return `${Math.floor(ms / 86_400_000)} d`;
}
