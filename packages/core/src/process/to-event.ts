import { contextOf } from "../callback-urls/callback-url.ts";
import { ReporthookError } from "../errors.ts";
import type { EventOf, SchemaIssue, Schemas } from "../events/events.ts";
import {
  eventTypeOf,
  type JsonObject,
  type Parse,
  type Recognition,
  recognize,
  toObject,
} from "../events/recognize.ts";
import type { Job } from "../inbox/delivery.ts";

/**
 * Makes the event of a delivery; null if its bytes are no JSON object. A promise only with a schema; it rejects `schema_mismatch`
 * with the issues.
 *
 * @throws whatever `parse` throws
 */
export function toEvent(
  job: Job,
  options: { readonly parse?: Parse | undefined; readonly schemas?: Schemas | undefined },
): EventOf | null | Promise<EventOf> {
  const object = toObject(job.body);
  if (object === null) return null;
  const recognition = recognize(object, job.headers, options.parse);
  const { type } = recognition;
  const schema = options.schemas?.[type];
  const eventType = eventTypeOf(object);
  if (schema === undefined) return eventOf(job, recognition, eventType, object);
  return validated(object, type, schema).then((body) => eventOf(job, recognition, eventType, body));
}

function eventOf(
  job: Job,
  recognition: Recognition,
  eventType: string | null,
  body: unknown,
): EventOf {
  const { id, receivedAt, context } = job;
  const verification = job.verification ?? "unsigned";
  const bare = { id, type: recognition.type, eventType, receivedAt, verification, body };
  const common = context === null ? bare : { ...bare, context: contextOf(job) };
  if ("payload" in recognition) return { ...common, payload: recognition.payload } as EventOf;
  if (recognition.type === "unknown") return common as EventOf;
  const { status, reportId } = recognition;
  return { ...common, status, reportId } as EventOf;
}

async function validated(
  body: JsonObject,
  type: EventOf["type"],
  schema: NonNullable<Schemas[EventOf["type"]]>,
): Promise<unknown> {
  const result = await schema["~standard"].validate(body);
  if (result.issues === undefined) return result.value;
  const issues = result.issues.slice(0, 10).map(issueText).join("; ");
  throw new ReporthookError(
    "schema_mismatch",
    `The body does not fit the schema of ${type}: ${issues}`,
  );
}

function issueText({ message, path = [] }: SchemaIssue): string {
  const keys = path.map((step) => String(typeof step === "object" ? step.key : step));
  return keys.length === 0 ? message : `${keys.join(".")}: ${message}`;
}
