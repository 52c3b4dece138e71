import type { ActRecord, Attempt } from "@reporthook/core";
import { type StoredDelivery, states } from "@reporthook/core/store";

/** The state of a delivery in a job. */
export interface JobState {
  readonly stored: StoredDelivery;
  /** The dedupe key, by which the queue `verify` recognizes copies; null when unsigned. */
  readonly key: string | null;
  /** How often the delivery has moved to another queue: of two jobs of one delivery, the one with more hops counts. */
  hop: number;
  /** The number of stalls before the last recorded attempt: later ones count towards poison. */
  stalls: number;
  /** Distinguishes the jobs of two processes that released it at the same time. */
  readonly nonce?: string | undefined;
}

/** The data of a job. */
export interface JobData {
  readonly delivery: Written | string;
  /** Text if the bytes are UTF-8, for people who inspect the queues. */
  readonly body: string | { readonly base64: string } | null;
}

/** The format in the store. */
type Written = Omit<StoredDelivery, "body" | "history"> &
  Omit<JobState, "stored"> & {
    readonly history: readonly (WrittenAttempt | WrittenAct)[];
  };
type WrittenAttempt = Omit<Attempt, "at"> & { readonly at: number };
type WrittenAct = Omit<ActRecord, "at"> & { readonly at: number };

/** The result of a completed job, stored together with the completion. */
export type HandledResult = Pick<
  Written,
  "type" | "reportId" | "attempts" | "lastError" | "error" | "changedAt" | "history"
>;

// jsonb of PostgreSQL takes neither NUL nor half a character.
const refused = /[\0\p{Surrogate}]/u;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The data of a job with this state; `body` is the body as stored, if known. */
export function dataOf(
  { stored, key, hop, stalls, nonce }: JobState,
  body: JobData["body"] = bodyOf(stored.body),
): JobData {
  // Members added after a spread make this take ten times as long.
  const delivery = {
    key,
    nonce,
    hop,
    stalls,
    ...stored,
    // Not stored.
    body: undefined,
    history: stored.history.map(written),
  };
  return { delivery: safe<Written>(delivery), body };
}

/** Reads the state of a job; `result` is that of a completed one. Null if it is no delivery as this version writes it. */
export function jobStateOf(data: unknown, result: unknown = null): JobState | null {
  const { delivery, body } = partsOf(data);
  const whole = { ...partsOf(delivery), ...partsOf(result) };
  if (!isWritten(whole) || !isBody(body)) return null;
  const { key, nonce, hop, stalls, history, ...rest } = whole;
  const bytes =
    typeof body === "object" && body !== null ? Buffer.from(body.base64, "base64") : body;
  const stored: StoredDelivery = {
    body: typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes,
    ...rest,
    history: history.map(read),
  };
  return { stored, key, hop, stalls, nonce };
}

/** The result of a handled delivery. */
export function resultOf(stored: StoredDelivery): HandledResult | string {
  const { type, reportId, attempts, lastError, error, changedAt, history } = stored;
  const parts = { type, reportId, attempts, lastError, error, changedAt };
  return safe({ ...parts, history: history.map(written) });
}

function written(item: Attempt | ActRecord): WrittenAttempt | WrittenAct {
  return { ...item, at: item.at.getTime() };
}

function read(item: WrittenAttempt | WrittenAct): Attempt | ActRecord {
  return { ...item, at: new Date(item.at) };
}

function safe<T extends object>(value: T): T | string {
  return isRefused(value) ? JSON.stringify(value) : value;
}

function isRefused(value: unknown): boolean {
  if (typeof value === "string") return refused.test(value);
  return typeof value === "object" && value !== null && Object.values(value).some(isRefused);
}

/** The members of an object or of JSON text of one; none of anything else. */
function partsOf(value: unknown): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = typeof value === "string" ? JSON.parse(value) : value;
    return isObject(read) ? read : {};
  } catch {
    return {};
  }
}

type Is = (value: unknown) => boolean;

const isText: Is = (value) => typeof value === "string";
const isNumber: Is = (value) => typeof value === "number";
const isTime: Is = (value) => typeof value === "number" && Math.abs(value) <= 8.64e15;
const isFlag: Is = (value) => typeof value === "boolean";
const orNull =
  (is: Is): Is =>
  (value) =>
    value === null || is(value);
const all = (is: Is, values: unknown): boolean => Array.isArray(values) && values.every(is);

const shape: Readonly<Record<keyof Written, Is>> = {
  id: isText,
  receiver: isText,
  url: isText,
  receivedAt: isTime,
  arrivedAt: isTime,
  context: orNull(isText),
  requestId: orNull(isText),
  signature: orNull(isText),
  headers: (value) => isObject(value) && all(isText, Object.values(value)),
  state: (value) => (states as readonly unknown[]).includes(value),
  stage: (value) => value === "verify" || value === "handle",
  reason: orNull((value) => isObject(value) && all(isText, [value["code"], value["message"]])),
  type: orNull(isText),
  reportId: orNull(isText),
  verification: orNull(isText),
  released: isFlag,
  attempts: isNumber,
  dueAt: isTime,
  lastTurnAt: orNull(isTime),
  retryState: orNull(isText),
  sameSignatureAs: orNull(isText),
  lastError: orNull(isText),
  error: orNull(isText),
  changedAt: isTime,
  announcedAt: orNull(isTime),
  history: (value) => all((one) => isObject(one) && isTime(one["at"]), value),
  key: orNull(isText),
  hop: isNumber,
  stalls: isNumber,
  nonce: (value) => value === undefined || isText(value),
};

function isWritten(value: unknown): value is Written {
  return isObject(value) && Object.entries(shape).every(([name, is]) => is(value[name]));
}

function isBody(value: unknown): value is JobData["body"] {
  return value === null || isText(value) || (isObject(value) && isText(value["base64"]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function bodyOf(body: Uint8Array | null): JobData["body"] {
  if (body === null) return null;
  try {
    const text = utf8.decode(body);
    if (!text.includes("\0")) return text;
  } catch {
    // Not UTF-8.
  }
  return { base64: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64") };
}

/** A value as the server gives it back: without types, and by PostgreSQL with its members in another order. */
export function asKept(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}
