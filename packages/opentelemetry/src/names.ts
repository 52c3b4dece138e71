import type { Attributes } from "@opentelemetry/api";
import { safeGet } from "@reporthook/core/telemetry";

/** Attribute names, from the semantic conventions for messaging where one exists. */
export const names = {
  system: "messaging.system",
  receiver: "messaging.destination.name",
  operation: "messaging.operation.name",
  operationType: "messaging.operation.type",
  id: "messaging.message.id",
  /** The request for the report. */
  requestId: "messaging.message.conversation_id",
  error: "error.type",
  /** `accepted`, `duplicate` or the code of the answer; for work, the new state. */
  outcome: "reporthook.outcome",
  /** `valid`, `invalid`, `expired`, or `none` if the service gave no verdict. */
  verdict: "reporthook.verdict",
  state: "reporthook.state",
  /** Why a delivery was parked. */
  reason: "reporthook.reason",
  /** From 1. */
  attempt: "reporthook.attempt",
} as const;

/** The attributes of every span; `id` is that of a delivery. Written out: an object with computed keys is far slower. */
export function spanAttributes(
  receiver: string,
  operation: string,
  type: string,
  id?: string,
): Attributes {
  return {
    "messaging.system": "reporthook",
    "messaging.destination.name": receiver,
    "messaging.operation.name": operation,
    "messaging.operation.type": type,
    "messaging.message.id": id,
  };
}

/** The error's code or name; `_OTHER` if neither is a single word, because they may contain anything. */
export function errorType(error: unknown): string {
  const isShort = (text: unknown) => typeof text === "string" && /^[A-Za-z_]{1,40}$/.test(text);
  return String([safeGet(error, "code"), safeGet(error, "name")].find(isShort) ?? "_OTHER");
}
