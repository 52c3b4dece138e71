import { InvalidReportRequestError, type ReportRequestProblem } from "./errors.ts";

/** A metric of a report: those the document shows, or any other (document, section "Report request"). */
export type Metric =
  | "category_sales_performance_product_views"
  | "category_sales_performance_units_sold"
  | "category_sales_performance_revenue"
  | "category_sales_performance_cvr"
  | (string & {});

/**
 * A report to ask for, with the names of the wire (document, section "Report request").
 *
 * Which fields the service requires is not shown, so none is required here; a field that is undefined is not sent.
 *
 * @example
 * const report: ReportRequest = {
 *   webhook_url: "https://app.example/webhooks/reports",
 *   domains: ["example.com"],
 *   metrics: ["category_sales_performance_revenue"],
 *   start_date: "2026-01",
 *   end_date: "2026-03",
 *   granularity: "monthly",
 *   response_format: "csv",
 * };
 */
export interface ReportRequest {
  /** Absolute http(s) address that is notified of every change of the report's status. */
  readonly webhook_url?: string | undefined;
  /** Domain names to report on. */
  readonly domains?: readonly string[] | undefined;
  /** Category identifiers, whole numbers. */
  readonly category_ids?: readonly number[] | undefined;
  readonly metrics?: readonly Metric[] | undefined;
  /** First month, `YYYY-MM`. */
  readonly start_date?: string | undefined;
  /** Last month, `YYYY-MM`; not before `start_date`. */
  readonly end_date?: string | undefined;
  readonly granularity?: "monthly" | (string & {}) | undefined;
  readonly response_format?: "csv" | (string & {}) | undefined;
}

/** What is wrong with a value; undefined when nothing is. */
type Check = (value: unknown) => string | undefined;

const url: Check = (value) =>
  typeof value === "string" && /^https?:\/\/\S+$/i.test(value) && URL.canParse(value)
    ? undefined
    : 'must be an absolute http(s) URL like "https://app.example/webhooks/reports"';

const text: Check = (value) =>
  typeof value === "string" && value.trim() !== "" ? undefined : "must be a non-empty string";

const integer: Check = (value) =>
  Number.isSafeInteger(value) ? undefined : "must be an integer, as a number";

const month: Check = (value) =>
  typeof value === "string" && /^\d{4}-(?:0[1-9]|1[0-2])$/.test(value)
    ? undefined
    : 'must be a month written YYYY-MM, like "2026-03"';

const single: Readonly<Record<string, Check>> = {
  webhook_url: url,
  start_date: month,
  end_date: month,
  granularity: text,
  response_format: text,
};

const lists: Readonly<Record<string, Check>> = {
  domains: text,
  category_ids: integer,
  metrics: text,
};

/**
 * The JSON of a report request, checked; fields that the document does not name are sent unchecked.
 *
 * @throws InvalidReportRequestError with every problem. Messages quote no value: a webhook address may hold a secret.
 */
export function reportBody(report: ReportRequest): string {
  if (typeof report !== "object" || report === null || Array.isArray(report)) {
    throw new InvalidReportRequestError([{ field: "report", message: "must be an object" }]);
  }
  const fields: Record<string, unknown> = { ...report };
  const problems: ReportRequestProblem[] = [];
  const check = (field: string, value: unknown, rule: Check) => {
    const message = rule(value);
    if (message !== undefined) problems.push({ field, message });
  };

  for (const [field, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const rule = Object.hasOwn(single, field) ? single[field] : undefined;
    const each = Object.hasOwn(lists, field) ? lists[field] : undefined;
    if (rule) check(field, value, rule);
    else if (each && !Array.isArray(value)) problems.push({ field, message: "must be an array" });
    else if (each && Array.isArray(value)) {
      for (const [index, element] of value.entries()) check(`${field}[${index}]`, element, each);
    }
  }
  const { start_date: start, end_date: end } = fields as ReportRequest;
  if (month(start) === undefined && month(end) === undefined && String(start) > String(end)) {
    problems.push({ field: "end_date", message: "must not be before start_date" });
  }
  if (problems.length > 0) throw new InvalidReportRequestError(problems);
  return toJson(fields);
}

/**
 * The JSON of a request to test an address (document, section "Test a webhook address").
 *
 * @throws InvalidReportRequestError when it is no absolute http(s) URL.
 */
export function webhookTestBody(webhookUrl: string): string {
  const message = url(webhookUrl);
  if (message !== undefined) {
    throw new InvalidReportRequestError([{ field: "webhook_url", message }]);
  }
  return JSON.stringify({ webhook_url: webhookUrl });
}

function toJson(fields: Record<string, unknown>): string {
  try {
    return JSON.stringify(fields);
  } catch {
    const message = "must be what JSON can hold: no cycle and no bigint";
    throw new InvalidReportRequestError([{ field: "report", message }]);
  }
}
