import { read } from "@reporthook/core/telemetry";

/** Attributes, by the semantic conventions for messaging where there is a name for it. */
export const names = {
  system: "messaging.system",
  receiver: "messaging.destination.name",
  operation: "messaging.operation.name",
  operationType: "messaging.operation.type",
  id: "messaging.message.id",
  error: "error.type",
  /** `accepted`, `duplicate` or the code of the answer; of work, the state it led to. */
  outcome: "reporthook.outcome",
  /** `valid`, `invalid`, `expired`, or `none` when the service gave none. */
  verdict: "reporthook.verdict",
  state: "reporthook.state",
  /** From 1. */
  attempt: "reporthook.attempt",
} as const;

/** What an error is called: its code, or its name; neither if they are no words, which may hold anything. */
export function errorType(error: unknown): string {
  const isShort = (text: unknown) => typeof text === "string" && /^[A-Za-z_]{1,40}$/.test(text);
  return String([read(error, "code"), read(error, "name")].find(isShort) ?? "_OTHER");
}
