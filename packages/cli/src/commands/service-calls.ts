import type { ReportRequest, ServiceAnswer } from "@reporthook/core";
import type { Command } from "commander";
import { type CallbackChoice, signUrl, withCallback } from "../lib/callback.ts";
import { clientFromEnvironment } from "../lib/environment.ts";
import { UsageError } from "../lib/errors.ts";
import { choiceOption, each, integer, url, withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

const id = integer(0, Number.MAX_SAFE_INTEGER);
const environment = "Set the service's address in REPORTS_URL and the key in REPORTS_API_KEY.";

/** Adds `test --to URL`, which makes the service send a test notification (the service's document, section 2). */
export function addTest(program: Command, terminal: Terminal): void {
  const command = program
    .command("test")
    .summary("ask the service to test a webhook address")
    .description(`Ask the service to send a test notification to an address.\n${environment}`)
    .requiredOption("--to <url>", "the address, as reachable from the service", url)
    .action(async ({ to, ...choice }: CallbackChoice & { readonly to: string }) => {
      const client = clientFromEnvironment();
      const url = await signUrl(to, choice);
      const answer = await terminal.during(`Testing ${to}`, () => client.testWebhook(url));
      show(terminal, "The service reached it", answer);
    });
  withExamples(withCallback(command), {
    "is the address right?": "reporthook test --to https://app.example/webhooks/reports",
  });
}

const reportAuths = ["header", "query", "none"] as const;

interface RequestOptions {
  readonly to?: string;
  readonly domain?: readonly string[];
  readonly categoryId?: readonly number[];
  readonly metric?: readonly string[];
  readonly startDate?: string;
  readonly endDate?: string;
  readonly granularity?: string;
  readonly responseFormat?: string;
  readonly reportAuth: (typeof reportAuths)[number];
}

/** Adds `request`, which requests a report (the service's document, section 3). */
export function addRequest(program: Command, terminal: Terminal): void {
  const command = program
    .command("request")
    .summary("request a report from the service")
    .description(
      `Request a report, once. A report requested twice may be charged twice.\n${environment}`,
    )
    .option("--to <url>", "webhook_url: gets every status", url)
    .option("--domain <name>", "a domain; may be repeated", each(String))
    .option("--category-id <id>", "a category id; may be repeated", each(id))
    .option("--metric <name>", "a metric; may be repeated", each(String))
    .option("--start-date <month>", "first month, YYYY-MM")
    .option("--end-date <month>", "last month, YYYY-MM")
    .option("--granularity <name>", "for example monthly")
    .option("--response-format <name>", "for example csv")
    .addOption(
      choiceOption(
        "--report-auth <how>",
        "how the key is sent; the document does not show it",
        reportAuths,
      ).default("header"),
    )
    .action((options: RequestOptions) => request(terminal, options));
  withExamples(command, {
    "a quarter's revenue, with a webhook": `reporthook request --to https://app.example/webhooks/reports \\
      --domain example.com --metric category_sales_performance_revenue \\
      --start-date 2026-01 --end-date 2026-03 --granularity monthly`,
  });
}

async function request(terminal: Terminal, options: RequestOptions): Promise<void> {
  const report: ReportRequest = {
    webhook_url: options.to,
    domains: options.domain,
    category_ids: options.categoryId,
    metrics: options.metric,
    start_date: options.startDate,
    end_date: options.endDate,
    granularity: options.granularity,
    response_format: options.responseFormat,
  };
  if (Object.values(report).every((value) => value === undefined)) {
    throw new UsageError(
      "Name the content of the report, for example with --domain; --help lists the options",
    );
  }
  const client = clientFromEnvironment({ reportAuth: options.reportAuth });
  const answer = await terminal.during("Requesting the report", () => client.requestReport(report));
  show(terminal, "The service accepted the request", answer);
}

function show(terminal: Terminal, done: string, { status, body }: ServiceAnswer): void {
  const text = typeof body === "string" ? body : JSON.stringify(body, null, 2);
  const rest = body === "" || body === null ? [] : [terminal.clean(text)];
  terminal.emit({ status, body }, [`${terminal.paint("green", done)}: ${status}`, ...rest]);
}
