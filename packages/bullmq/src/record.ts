import type { Attempt } from "@reporthook/core";
import type { Kept } from "@reporthook/core/store";

/** A delivery as a job carries it. */
export interface Carried {
  readonly kept: Kept;
  /** Its dedupe key, by which the queue of those to be verified tells copies; null when unsigned. */
  readonly key: string | null;
  /** How often it has gone on to another queue: of two jobs of one delivery the one that is further has the truth. */
  step: number;
  /** How often its work was lost before the last one that was recorded: what came later counts towards poison. */
  losses: number;
  /** What tells the job of whoever released it from that of another who did so at the same time. */
  readonly nonce?: string | undefined;
}

/** The data of a job. */
export interface JobData {
  readonly delivery: Written | string;
  /** Text where the bytes are UTF-8, for whoever looks at the queues. */
  readonly body: string | { readonly base64: string } | null;
}

type Written = Omit<Kept, "body" | "history"> & {
  readonly history: readonly WrittenAttempt[];
} & Pick<Carried, "key" | "step" | "losses" | "nonce">;
type WrittenAttempt = Omit<Attempt, "at"> & { readonly at: number };

/** What a completed job remembers of its last attempt: it is stored in one with the completion. */
export type Result = Pick<
  Written,
  "type" | "reportId" | "attempts" | "lastError" | "endedAt" | "history"
>;

// jsonb of PostgreSQL takes neither.
const refused = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The data of a job that carries this. */
export function dataOf({ kept, key, step, losses, nonce }: Carried): JobData {
  const { body, history, ...rest } = kept;
  return {
    delivery: safe({ ...rest, ...{ key, step, losses, nonce }, history: history.map(written) }),
    body: body === null ? null : bodyOf(body),
  };
}

/** What a job carries; `result` is that of a completed one. */
export function carriedBy(data: JobData, result: unknown = null): Carried {
  const { delivery, body } = data;
  const read = unsafe<Written>(delivery);
  const late = result === null ? {} : unsafe<Result>(result as Result | string);
  const { key, step, losses, nonce, history, ...rest } = { ...read, ...late };
  const bytes =
    typeof body === "object" && body !== null ? Buffer.from(body.base64, "base64") : body;
  const kept: Kept = {
    ...rest,
    body: typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes,
    history: history.map(({ at, ...attempt }) => ({ ...attempt, at: new Date(at) })),
  };
  return { kept, key, step, losses, nonce };
}

/** What is to be remembered of a handled one. */
export function resultOf(kept: Kept): Result | string {
  const { type, reportId, attempts, lastError, endedAt, history } = kept;
  return safe({ type, reportId, attempts, lastError, endedAt, history: history.map(written) });
}

function written({ at, ...attempt }: Attempt): WrittenAttempt {
  return { ...attempt, at: at.getTime() };
}

function safe<T extends object>(value: T): T | string {
  const text = JSON.stringify(value);
  return refused.test(text) ? text : value;
}

function unsafe<T extends object>(value: T | string): T {
  return typeof value === "string" ? (JSON.parse(value) as T) : value;
}

function bodyOf(body: Uint8Array): JobData["body"] {
  try {
    const text = utf8.decode(body);
    if (!text.includes("\0")) return text;
  } catch {
    // Not UTF-8.
  }
  return { base64: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64") };
}
