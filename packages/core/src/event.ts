import type { Job } from "./delivery.ts";
import { ReporthookError } from "./errors.ts";
import type { EventOf, SchemaIssue, Schemas } from "./events.ts";
import { eventTypeOf, type JsonObject, type Parse, recognize, toObject } from "./parse.ts";

/**
 * The event that a delivery's handlers are given; null when its bytes are no JSON object.
 *
 * Rejects `schema_mismatch` with the schema's issues, and with whatever `parse` throws.
 */
export async function toEvent(
  job: Job,
  options: { readonly parse?: Parse | undefined; readonly schemas?: Schemas | undefined },
): Promise<EventOf | null> {
  const object = toObject(job.body);
  if (object === null) return null;
  const { reportId, ...recognition } = recognize(object, job.headers, options.parse);
  const body = await validated(object, recognition.type, options.schemas);
  return {
    id: job.id,
    ...recognition,
    ...(recognition.type.startsWith("report.") && { reportId }),
    eventType: eventTypeOf(object),
    receivedAt: job.receivedAt,
    verification: job.verification ?? "unsigned",
    body,
  } as EventOf;
}

async function validated(
  body: JsonObject,
  type: EventOf["type"],
  schemas: Schemas | undefined,
): Promise<unknown> {
  const schema = schemas?.[type];
  if (schema === undefined) return body;
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
