import { contextOf } from "../callback-urls/callback-url.ts";
import { ReporthookError } from "../errors.ts";
import type {
  EventOf,
  NotificationType,
  ReportStatus,
  Schema,
  SchemaIssue,
  Schemas,
} from "../events/events.ts";
import {
  eventTypeOf,
  type JsonObject,
  type Recognition,
  type RecognizedBody,
  type Recognizer,
  toObject,
} from "../events/recognize.ts";
import type { Job } from "../inbox/delivery.ts";
import { assertOption } from "../lib/validate.ts";

/**
 * Makes the event of a delivery; null if its bytes are no JSON object. A promise only with a schema; it rejects `schema_mismatch`
 * with the issues.
 *
 * @throws whatever `parse` throws
 */
export function toEvent(
  job: Job,
  recognizer: Recognizer,
  schemas: Schemas = {},
): EventOf | null | Promise<EventOf> {
  const recognized = settledBody(job) ?? recognizer.take(job);
  if (recognized === null) return null;
  const { object, recognition } = recognized;
  const { type } = recognition;
  const schema = schemas[type as NotificationType];
  const eventType = eventTypeOf(object);
  if (schema === undefined) return eventOf(job, recognition, eventType, object);
  return validated(object, type, schema).then((body) => eventOf(job, recognition, eventType, body));
}

/** The body of a status that `reports.settle` told: of any shape, and no notification. */
function settledBody({ verification, type, reportId, body }: Job): RecognizedBody | null {
  if (verification !== "settled") return null;
  const status = type?.slice("report.".length) as ReportStatus;
  const recognition = { type: `report.${status}`, status, reportId } as const;
  return { object: toObject(body) ?? {}, recognition };
}

/** An event while it is made: a spread for each part would cost as much as parsing the body. */
type Draft = Partial<
  Record<
    | ("id" | "type" | "eventType" | "receivedAt" | "verification" | "body")
    | ("context" | "payload" | "status" | "reportId" | "requestId"),
    unknown
  >
>;

function eventOf(
  job: Job,
  recognition: Recognition,
  eventType: string | null,
  body: unknown,
): EventOf {
  const { id, receivedAt } = job;
  const context = contextOf(job);
  const verification = job.verification ?? "unsigned";
  const event: Draft = { id, type: recognition.type, eventType, receivedAt, verification, body };
  if (context !== undefined) event.context = context;
  if ("payload" in recognition) event.payload = recognition.payload;
  else if (recognition.type !== "unknown") {
    event.status = recognition.status;
    event.reportId = recognition.reportId;
    event.requestId = job.requestId;
  }
  return event as EventOf;
}

async function validated(
  body: JsonObject,
  type: EventOf["type"],
  schema: Schema,
): Promise<unknown> {
  const result = await schema["~standard"].validate(body);
  // JavaScript may answer anything.
  const { issues }: { readonly issues?: unknown } = Object(result);
  if (!Array.isArray(issues)) {
    const what = `What the schema of ${type} answers`;
    assertOption(what, "{ value } or { issues: […] }", result, "value" in Object(result));
    return (result as { readonly value: unknown }).value;
  }
  throw new ReporthookError(
    "schema_mismatch",
    `The body does not fit the schema of ${type}: ${issues.slice(0, 10).map(issueText).join("; ")}`,
  );
}

function issueText({ message, path = [] }: SchemaIssue): string {
  const keys = path.map((step) => String(typeof step === "object" ? step.key : step));
  return keys.length === 0 ? message : `${keys.join(".")}: ${message}`;
}
