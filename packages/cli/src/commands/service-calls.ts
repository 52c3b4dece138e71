import type { ReportAuth, ReportRequest, ServiceAnswer } from "@reporthook/core";
import { isRefusal } from "@reporthook/core/store";
import { type Command, Option } from "commander";
import {
  type CallbackChoice,
  callbackSecret,
  secretVariable,
  signUrl,
  tokenOf,
  withCallback,
} from "../lib/callback.ts";
import { clientFromEnvironment } from "../lib/environment.ts";
import { UsageError } from "../lib/errors.ts";
import { endOfCommand } from "../lib/listen.ts";
import { choiceOption, each, integer, url, withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

const unsigned = "Not signed: callback.require holds what comes. Sign the URL with callback-url.";
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
      const how = tokenOf(url) === "" ? ", without a callback token" : "";
      show(terminal, `The service reached it${how}`, answer);
    });
  withExamples(withCallback(command), {
    "is the address right?": "reporthook test --to https://app.example/webhooks/reports",
  });
}

const id = integer(0, Number.MAX_SAFE_INTEGER);

/** The options for the fields of a request. */
const fields: Readonly<Record<keyof ReportRequest, Option>> = {
  webhook_url: new Option("--to <url>", "webhook_url: gets every status").argParser(url),
  domains: new Option("--domain <name>", "a domain; may be repeated").argParser(each(String)),
  category_ids: new Option("--category-id <id>", "a category id; may be repeated").argParser(
    each(id),
  ),
  metrics: new Option("--metric <name>", "a metric; may be repeated").argParser(each(String)),
  start_date: new Option("--start-date <month>", "first month, YYYY-MM"),
  end_date: new Option("--end-date <month>", "last month, YYYY-MM"),
  granularity: new Option("--granularity <name>", "for example monthly"),
  response_format: new Option("--response-format <name>", "for example csv"),
};

/** Adds `request`, which requests a report (the service's document, section 3). */
export function addRequest(program: Command, terminal: Terminal): void {
  const how = "how the key is sent; the document does not show it";
  const ways: readonly ReportAuth[] = ["header", "query", "none"];
  const command = program
    .command("request")
    .summary("request a report from the service")
    .description(
      `Request a report, once. A report requested twice may be charged twice.\n${environment}`,
    );
  for (const option of Object.values(fields)) command.addOption(option);
  command
    .addOption(choiceOption("--report-auth <how>", how, ways).default("header"))
    .action(async ({ reportAuth }: { readonly reportAuth: ReportAuth }) => {
      const report = Object.fromEntries(
        Object.entries(fields).map(([field, option]) => [
          field,
          command.getOptionValue(option.attributeName()),
        ]),
      );
      if (Object.values(report).every((value) => value === undefined)) {
        throw new UsageError(
          "Name the content of the report, for example with --domain; --help lists the options",
        );
      }
      const client = clientFromEnvironment({ reportAuth });
      const { webhook_url: to } = report;
      if (callbackSecret() && to && !tokenOf(to)) terminal.tell(unsigned);
      const work = (): Promise<ServiceAnswer> =>
        client.requestReport(report, { signal: endOfCommand().signal }).catch(unsure);
      const answer = await terminal.during("Requesting the report", work);
      show(terminal, "The service accepted the request", answer);
    });
  withExamples(command, {
    "a quarter's revenue, with a webhook": `reporthook request --to https://app.example/webhooks/reports \\
      --domain example.com --metric category_sales_performance_revenue \\
      --start-date 2026-01 --end-date 2026-03 --granularity monthly`,
  });
}

/** Says so if the service may have the request all the same, as after Ctrl-C. */
function unsure(error: Error): never {
  if (!isRefusal(error)) {
    error.message += ": the service may have the request, and charge it; look before you repeat it";
  }
  throw error;
}

function show(terminal: Terminal, done: string, { status, body }: ServiceAnswer): void {
  const text = typeof body === "string" ? body : JSON.stringify(body, null, 2);
  const rest = body === "" || body === null ? [] : [terminal.clean(text)];
  terminal.emit({ status, body }, [`${terminal.paint("green", done)}: ${status}`, ...rest]);
}

/** Adds `callback-url URL`, which prints a signed callback URL. */
export function addCallbackUrl(program: Command, terminal: Terminal): void {
  const command = program
    .command("callback-url")
    .summary("sign a callback URL")
    .description(
      `Print a webhook address with a callback token, signed with ${secretVariable}.\n` +
        "Whoever knows it can pass the receiver's check of the token: keep it out of logs.",
    )
    .argument("<url>", "the address of the webhook", url)
    .action(async (base: string, choice: CallbackChoice) => {
      if (callbackSecret() === null) {
        throw new UsageError(`Set ${secretVariable} to the app's secret: it signs the URL`);
      }
      terminal.reveal({ url: await signUrl(base, choice) });
    });
  withExamples(withCallback(command), {
    "to request a report by hand": `reporthook callback-url https://app.example/hook --context '{"id":1}'`,
  });
}
