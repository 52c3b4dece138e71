import type { Counts, Entry, ReasonCode, State } from "@reporthook/core";

/** What a state is called, and what it means. */
export const states: Readonly<
  Record<State, { readonly name: string; readonly meaning: string; readonly sign: string }>
> = {
  received: { name: "Received", meaning: "waits for the service’s verdict", sign: "○" },
  verified: { name: "Verified", meaning: "waits for your handlers", sign: "◐" },
  handled: { name: "Handled", meaning: "your handlers succeeded", sign: "✓" },
  held: { name: "Held", meaning: "waits for a person to decide", sign: "‖" },
  dead: { name: "Dead", meaning: "failed for good until released", sign: "✕" },
  rejected: { name: "Rejected", meaning: "not from the service", sign: "⊘" },
};

/** What a reason is called, and what to do about it. */
export const reasons: Readonly<
  Record<ReasonCode, { readonly name: string; readonly hint: string }>
> = {
  attempts_used_up: {
    name: "All attempts failed",
    hint: "Mend what the handlers fail with, then release.",
  },
  do_not_retry: {
    name: "A handler gave up",
    hint: "A handler threw DoNotRetry. Mend what it says, then release.",
  },
  no_handler: {
    name: "No handler for it",
    hint: "Register one for “unknown”, or teach parse its shape, then release.",
  },
  not_understood: {
    name: "Not understood",
    hint: "Either the body is no JSON object: look for what rewrites bodies on the way. Or the option parse or a schema failed: mend it, then release.",
  },
  schema_mismatch: { name: "Does not fit its schema", hint: "Mend the schema, then release." },
  not_verified: {
    name: "No verdict from the service",
    hint: "It gave none for an hour, or judges others and not this one. Mend baseUrl or the way to it, then release to ask again.",
  },
  expired: {
    name: "Signature too old",
    hint: "Genuine when it was sent, asked about too late. Release if you trust it.",
  },
  reused_signature: {
    name: "Signature came twice",
    hint: "The same signature with other bytes, or at another address. Compare both before you release.",
  },
  unsigned: {
    name: "No signature",
    hint: "Anybody may have sent it, or the signature is in a header that the option signature does not name. Release only if you trust it.",
  },
  invalid_signature: {
    name: "Forged",
    hint: "The service did not make its signature. If it says so of all, the key belongs to another account.",
  },
  poison: {
    name: "Ends the process",
    hint: "The app ended several times while it worked on it. Mend what ends it, then release.",
  },
};

/** The names under which handlers are registered. */
export const events: readonly string[] = [
  "report.complete",
  "report.processing",
  "report.internal_error",
  "test_webhook_endpoint",
  "unknown",
];

/** What a reason is called, with the code by which the command line, the log and the documentation name it. */
export function reasonWithCode(code: string): string {
  const name = reasonName(code);
  return name === code ? name : `${name} (${code})`;
}

/** What a reason is called; its code when a newer server knows more. */
export function reasonName(code: string): string {
  return Object.hasOwn(reasons, code) ? reasons[code as ReasonCode].name : code;
}

/** What to do about a reason. */
export function reasonHint(code: string): string {
  return Object.hasOwn(reasons, code) ? reasons[code as ReasonCode].hint : "";
}

/** What a delivery is, as far as it is known. */
export function kindOf({ type, reason }: Pick<Entry, "type" | "reason">): string {
  return type ?? (reason?.code === "not_understood" ? "not understood" : "not verified");
}

const number = new Intl.NumberFormat();
/** 1,234 */
export function count(value: number): string {
  return number.format(value);
}

/** How many there are, whatever their state. */
export function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, one) => sum + one, 0);
}

/** 1 delivery, 2 deliveries */
export function deliveries(value: number): string {
  return `${count(value)} ${value === 1 ? "delivery" : "deliveries"}`;
}

/** A duration: 3 ms, 1.2 s, 5 min, 3 h, 2 d. */
export function duration(ms: number): string {
  if (ms < 1) return "under 1 ms";
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${Math.round(ms / 100) / 10} s`;
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.floor(ms / 3_600_000)} h`;
  return `${Math.floor(ms / 86_400_000)} d`;
}
