import { InvalidReportRequestError, type ReportRequestProblem } from "../errors.ts";
import { tryGet } from "../lib/safe-get.ts";
import { isHttpUrl, isPlain, mustBeHttpUrl } from "../lib/validate.ts";

/** A metric of a report: one that the document shows, or any other text (document, section "Report request"). */
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

/** A report as `receiver.reports` takes it, which gives it its `webhook_url`. */
export type RequestedReport = Omit<ReportRequest, "webhook_url"> & {
  readonly webhook_url?: undefined;
};

/** The problem with the value of a field. */
type Check = (field: string, value: unknown) => readonly ReportRequestProblem[];

function rule(message: string, fits: (value: unknown) => boolean): Check {
  return (field, value) => (fits(value) ? [] : [{ field, message }]);
}

function matches(pattern: RegExp): (value: unknown) => value is string {
  return (value): value is string => typeof value === "string" && pattern.test(value);
}

function listOf(check: Check): Check {
  return (field, value) =>
    Array.isArray(value)
      ? [...value].flatMap((element, index) => check(`${field}[${index}]`, element))
      : [{ field, message: "must be an array" }];
}

const isMonth = matches(/^\d{4}-(?:0[1-9]|1[0-2])$/);
const url: Check = (field, value) =>
  isHttpUrl(value) && !/\s/.test(value)
    ? []
    : [{ field, message: mustBeHttpUrl("https://app.example/webhooks/reports", value) }];
const month = rule('must be a month written YYYY-MM, like "2026-03"', isMonth);
const text = rule("must be a non-empty string", matches(/\S/));
const integer = rule("must be an integer, as a number", Number.isSafeInteger);

const checks: ReadonlyMap<string, Check> = new Map([
  ["webhook_url", url],
  ["domains", listOf(text)],
  ["category_ids", listOf(integer)],
  ["metrics", listOf(text)],
  ["start_date", month],
  ["end_date", month],
  ["granularity", text],
  ["response_format", text],
]);

/**
 * The JSON of a report request, checked; fields that the document does not name are sent unchecked.
 *
 * @throws InvalidReportRequestError with every problem. Messages quote no value: a webhook address may hold a secret.
 */
export function reportBody(report: ReportRequest): string {
  if (typeof report !== "object" || report === null || Array.isArray(report) || !isPlain(report)) {
    throw refusal(
      "must be a plain object: the fields of any other would not be sent. Await a promise",
    );
  }
  const fields = { ...report };
  const problems = Object.entries(fields).flatMap(([field, value]) =>
    value === undefined ? [] : (checks.get(field)?.(field, value) ?? []),
  );
  const { start_date: start, end_date: end } = fields;
  if (isMonth(start) && isMonth(end) && start > end) {
    problems.push({ field: "end_date", message: "must not be before start_date" });
  }
  if (problems.length > 0) throw new InvalidReportRequestError(problems);
  const json = tryGet(() => JSON.stringify(fields));
  if (json !== undefined) return json;
  throw refusal("must be what JSON can hold: no cycle and no bigint");
}

/** The error of a report that is wrong as a whole. */
function refusal(message: string): InvalidReportRequestError {
  return new InvalidReportRequestError([{ field: "report", message }]);
}
