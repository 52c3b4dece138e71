import { counted } from "@reporthook/core/store";
import { createEmulator } from "@reporthook/emulator";
import type { Command } from "commander";
import {
  type Check,
  checkFramework,
  checkIgnored,
  checkMethods,
  checkOversized,
  checkParser,
  checkReachable,
  checkTransport,
  inFramework,
  sendTest,
  type Times,
  timeAnswers,
} from "../doctor/checks.ts";
import { checkService, checkSigned } from "../doctor/service.ts";
import { bareHint } from "../lib/advice.ts";
import { type CallbackChoice, signUrl, unsignedUrl, withCallback } from "../lib/callback.ts";
import { program, type Service, serviceFromEnvironment } from "../lib/environment.ts";
import { CommandFailed } from "../lib/errors.ts";
import { hang, type Style } from "../lib/layout.ts";
import { integer, url, withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

interface DoctorOptions extends CallbackChoice {
  readonly to: string;
  readonly requests: number;
  readonly signed?: true;
}

const marks: Readonly<Record<Check["result"], readonly [string, Style]>> = {
  pass: ["✔", "green"],
  warn: ["!", "yellow"],
  fail: ["✖", "red"],
};

/** Adds `doctor --to URL`, which checks an endpoint. */
export function addDoctor(program: Command, terminal: Terminal): void {
  const command = program
    .command("doctor")
    .summary("check an endpoint")
    .description(
      "Check an endpoint, and say what to fix.\n" +
        "It sends unsigned test notifications, which reach handlers of\n" +
        "test_webhook_endpoint, and malformed requests; signed ones with --signed.",
    )
    .requiredOption("--to <url>", "the endpoint", url)
    .option("--requests <count>", "how many requests to time, 8 a second", integer(1, 10_000), 20)
    .option(
      "--signed",
      "also send signed ones, which reach handlers, to an app that uses the emulator at REPORTS_URL",
    )
    .action((options: DoctorOptions) => doctor(terminal, options));
  withExamples(withCallback(command), {
    "before you give the address to the service": "reporthook doctor --to https://app.example/hook",
    "in CI": "reporthook doctor --to http://127.0.0.1:3000/hook --json",
    "with an app started for the playground":
      "reporthook doctor --signed --to http://127.0.0.1:3000/hook",
  });
}

async function doctor(terminal: Terminal, options: DoctorOptions): Promise<void> {
  const { requests, signed } = options;
  const target = await signUrl(options.to, options);
  const to = unsignedUrl(options.to);
  const { REPORTS_URL: isNamed, REPORTS_API_KEY: hasKey } = process.env;
  const service = signed || (isNamed && hasKey) ? serviceFromEnvironment() : null;
  if (service !== null && signed) await assertEmulator(terminal, service);
  const also = signed ? "then a signed report, a second copy, and a forged one" : "nothing signed";
  const asks = service === null ? "" : ` Asks ${service.baseUrl} about a made-up signature.`;
  const text = `Sends ${requests + 1} unsigned test notifications, which reach handlers of test_webhook_endpoint, and a few malformed requests to ${to}; ${also}.${asks}`;
  terminal.print([...hang("", text, terminal), ""]);
  const { during } = terminal;
  const checks: Check[] = [];
  const note = (...found: readonly Check[]): void => {
    for (const one of found) {
      const check = inFramework(one, framework?.says);
      checks.push(check);
      terminal.print(checkLines(check, terminal));
    }
  };
  let times: Times | null = null;
  const first = await during("Is it reachable?", () => sendTest(target));
  const framework =
    first.status === null
      ? null
      : await during("The framework", () => checkFramework(target, first));
  const reachable = checkReachable(target, first);
  note(reachable);
  if (framework !== null) note(framework);
  // If the webhook does not answer, the other checks are useless.
  if (reachable.result !== "fail") {
    note(checkTransport(to));
    const timing = `Timing ${requests} answers`;
    const timed = await during(timing, () => timeAnswers(target, requests, first));
    times = timed.times;
    note(timed.check);
    note(await during("Other methods", () => checkMethods(target)));
    note(await during("Malformed JSON", () => checkParser(target)));
    note(await during("An oversized body", () => checkOversized(to)));
    if (service !== null) note(await during("A made-up signature", () => checkService(service)));
    if (service !== null && signed) {
      note(...(await during("Signed notifications", () => checkSigned(target, service))));
    }
  }
  const ignored = checkIgnored(process.cwd());
  if (ignored !== null) note(ignored);
  const failed = checks.filter(({ result }) => result === "fail").length;
  if (failed > 0) {
    const message = `${failed} of ${checks.length} checks failed: ${to} cannot receive notifications yet`;
    throw new CommandFailed("endpoint_unfit", message, { to, checks, times });
  }
  const warned = checks.filter(({ result }) => result === "warn").length;
  const warnings = warned === 0 ? "" : ` (${counted(warned, "warning", "warnings")})`;
  const ready = terminal.paint("green", "Ready for notifications");
  const condition = signed ? "" : ", if the app has the right API key";
  const help = `${program()} doctor --help explains --signed, which checks the key.`;
  const isBare = signed && target !== options.to && options.context === undefined;
  const lines = isBare ? [bareHint] : signed ? [] : hang("", help, terminal);
  terminal.emit({ to, checks, times }, ["", `${ready}${warnings}${condition}.`, ...lines]);
}

function checkLines({ name, result, says, fix, type }: Check, terminal: Terminal): string[] {
  const [mark, style] = marks[result];
  const lead = `${terminal.paint(style, mark)} ${name.padEnd(11)}  `;
  const lines = hang(lead, says, terminal);
  const advice = fix === undefined ? [] : hang(" ".repeat(15), fix, terminal);
  const typed = type === undefined ? [] : hang(`${" ".repeat(15)}› `, type, terminal);
  return [...lines, ...advice, ...typed];
}

/** Checks that the service is an emulator that knows our signature. */
async function assertEmulator(
  terminal: Terminal,
  { client, baseUrl, apiKey }: Service,
): Promise<void> {
  const { headers } = createEmulator({ apiKey }).notification("report");
  const signature = headers["X-svc-authorization"] ?? "";
  const ask = (): Promise<string> => client.authorize(signature).catch(() => "none");
  if ((await terminal.during(`Asking ${baseUrl}`, ask)) === "valid") return;
  const why = process.env["REPORTS_URL"] ? "" : ", as REPORTS_URL is not set,";
  const message = `--signed needs an emulator with our API key, and ${baseUrl}${why} is not one: start ${program()} dev, set REPORTS_URL to what it prints, or omit --signed`;
  throw new CommandFailed("no_emulator", message);
}
