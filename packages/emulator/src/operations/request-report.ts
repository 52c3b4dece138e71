import { Refused } from "../http/answer.ts";
import { type IncomingCall, isWebhookUrl, readFields } from "../http/call.ts";
import type { Operation } from "../http/service.ts";
import type { ReportStore } from "../notifications/reports.ts";

const isText = (value: unknown): boolean => typeof value === "string";
const isMonth = (value: unknown): boolean =>
  typeof value === "string" && /^\d{4}-(0[1-9]|1[0-2])$/.test(value);
const isArrayOf =
  (isItem: (item: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every(isItem);

const FIELDS: readonly (readonly [string, (value: unknown) => boolean, string])[] = [
  ["webhook_url", isWebhookUrl, "an absolute http or https URL"],
  ["domains", isArrayOf(isText), "an array of strings"],
  ["category_ids", isArrayOf(Number.isInteger), "an array of integers"],
  ["metrics", isArrayOf(isText), "an array of strings"],
  ["start_date", isMonth, "a month, YYYY-MM"],
  ["end_date", isMonth, "a month, YYYY-MM"],
  ["granularity", isText, "a string"],
  ["response_format", isText, "a string"],
];

/**
 * Creates the operation that accepts a report request (the service's document, section 3). The document does not show required
 * fields and authentication: no field is required, and a key is checked only if it is sent.
 */
export function requestingReports(
  isKey: (given: string | null) => boolean,
  store: ReportStore,
): Operation {
  return {
    path: "/batch/v4/request-report",
    target: "request-report",
    async run(call) {
      for (const key of [call.header("api-key"), call.url.searchParams.get("api_key")]) {
        if (key !== null && !isKey(key)) throw new Refused(401, ["The API key is wrong."]);
      }
      const { fields, url } = await reportIn(call);
      const { id, status } = store.create(fields, url);
      return { status: 200, body: { report_id: id, status } };
    },
  };
}

async function reportIn(
  call: IncomingCall,
): Promise<{ readonly fields: Record<string, unknown>; readonly url: string | null }> {
  const fields = await readFields(call);
  const errors = FIELDS.filter(([name, isRight]) => name in fields && !isRight(fields[name])).map(
    ([name, , expected]) => `${name} must be ${expected}.`,
  );
  if (errors.length > 0) throw new Refused(400, errors);
  const url = fields["webhook_url"];
  return { fields, url: isWebhookUrl(url) ? url : null };
}
