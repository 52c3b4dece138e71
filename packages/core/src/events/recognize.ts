import { assertNoPromise } from "../lib/is-promise.ts";
import { tryGet } from "../lib/safe-get.ts";
import { inspect } from "../lib/validate.ts";
import type { ReportStatus } from "./events.ts";

/** A JSON object as it came. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The result of the option `parse`; null leaves the notification to the built-in table. */
export type Parsed =
  /** The status says which. */
  | { readonly type: "report"; readonly status: ReportStatus; readonly reportId?: ReportId }
  | {
      readonly type: "unknown" | `report.${ReportStatus}`;
      readonly status?: ReportStatus | undefined;
      readonly reportId?: ReportId;
    };

type ReportId = string | null | undefined;

/** The `parse` option: recognizes bodies that the built-in table does not know. */
export type Parse = (notification: {
  readonly body: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
}) => Parsed | null | undefined;

/** The type of a notification, maybe unknown. */
export type Recognition =
  | { readonly type: "test_webhook_endpoint"; readonly payload: string; readonly reportId: null }
  | {
      readonly type: `report.${ReportStatus}`;
      readonly status: ReportStatus;
      readonly reportId: string | null;
    }
  | { readonly type: "unknown"; readonly reportId: null };

const utf8 = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true });
const statuses: readonly unknown[] = ["processing", "complete", "internal_error"];
// Where the table looks for a status, in this order: the document shows no body of a status change.
const places = ["payload", "report", "data"];

/** The bytes as a JSON object, or null when they are none (not UTF-8, not JSON, an array, a string, …). */
export function toObject(bytes: Uint8Array): JsonObject | null {
  const value: unknown = tryGet(() => JSON.parse(utf8.decode(bytes)));
  return isObject(value) ? value : null;
}

/** `event_type` as it came, or null (document, section "Webhook notification"). */
export function eventTypeOf(body: JsonObject): string | null {
  const value = own(body, "event_type");
  return typeof value === "string" ? value : null;
}

/**
 * Recognizes a notification: as the test notification, then by `parse`, then by the built-in table (document, sections "Webhook
 * notification" and "Events").
 *
 * @throws TypeError when `parse` answers something else than it should
 */
export function recognize(
  body: JsonObject,
  headers: Readonly<Record<string, string>>,
  parse?: Parse,
): Recognition {
  const payload = own(body, "payload");
  if (eventTypeOf(body) === "test_webhook_endpoint" && typeof payload === "string") {
    return { type: "test_webhook_endpoint", payload, reportId: null };
  }
  const parsed = parse?.({ body, headers }) ?? null;
  assertNoPromise("parse", parsed);
  if (parsed !== null) return checked(parsed);
  const status = own(body, "status");
  if (isStatus(status)) return report(status, reportIdIn(body));
  for (const place of places) {
    const inner = own(body, place);
    if (!isObject(inner)) continue;
    const status = own(inner, "status");
    if (isStatus(status)) return report(status, reportIdIn(inner));
  }
  if (isStatus(payload)) return report(payload, reportIdIn(body));
  return { type: "unknown", reportId: null };
}

function checked(parsed: Parsed): Recognition {
  if (parsed.type === "unknown") return { type: "unknown", reportId: null };
  const status = parsed.type === "report" ? parsed.status : statusOf(parsed.type);
  const agrees = parsed.status === undefined || parsed.status === status;
  if (!isStatus(status) || !agrees) {
    throw new TypeError(
      `parse answered type ${inspect(parsed.type)} with status ${inspect(parsed.status)}: ` +
        'answer "report" with a status, "report.<status>", "unknown" or null',
    );
  }
  return report(status, idOf(parsed.reportId ?? null));
}

function statusOf(type: unknown): string | undefined {
  return typeof type === "string" && type.startsWith("report.") ? type.slice(7) : undefined;
}

function idOf(given: unknown): string | null {
  if (given === null || typeof given === "string") return given || null;
  if (Number.isSafeInteger(given)) return String(given);
  throw new TypeError(`parse answered a reportId of type ${typeof given}: answer text or null`);
}

function report(status: ReportStatus, reportId: string | null): Recognition {
  return { type: `report.${status}`, status, reportId };
}

/** The id of a report, beside its status. */
export function reportIdIn(object: JsonObject): string | null {
  for (const name of ["report_id", "reportId", "id"]) {
    const value = own(object, name);
    if (typeof value === "string" && value !== "") return value;
    // Beyond that JSON.parse has lost digits: no id is better than a wrong one.
    if (Number.isSafeInteger(value)) return String(value);
  }
  return null;
}

function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isStatus(value: unknown): value is ReportStatus {
  return statuses.includes(value);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A body and its recognition. */
export interface RecognizedBody {
  readonly object: JsonObject;
  readonly recognition: Recognition;
}

interface Source {
  readonly id: string;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** The maximum number of bodies to keep, about as many as are worked on at a time, and their maximum length in bytes. */
const keptMax = 32;
const keptBytes = 16_384;

/** Reads and recognizes bodies, once for both stages: most deliveries are handled right after their verdict. */
export class Recognizer {
  readonly #parse: Parse | undefined;
  readonly #kept: { readonly id: string; readonly recognized: RecognizedBody }[] = [];

  constructor(parse: Parse | undefined) {
    this.#parse = parse;
  }

  /**
   * Reads a body, and keeps the result for {@link take}; null if it is no JSON object.
   *
   * @throws whatever `parse` throws
   */
  recognize(source: Source): RecognizedBody | null {
    const recognized = this.take(source);
    if (recognized === null || source.body.byteLength > keptBytes) return recognized;
    this.#kept.push({ id: source.id, recognized });
    if (this.#kept.length > keptMax) this.#kept.shift();
    return recognized;
  }

  /** Like {@link recognize}, but keeps nothing: the caller may change the object. */
  take({ id, body, headers }: Source): RecognizedBody | null {
    const at = this.#kept.findIndex((kept) => kept.id === id);
    const [kept] = at === -1 ? [] : this.#kept.splice(at, 1);
    if (kept !== undefined) return kept.recognized;
    const object = toObject(body);
    return object && { object, recognition: recognize(object, headers, this.#parse) };
  }
}
