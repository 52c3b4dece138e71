import { readFileSync } from "node:fs";
import { eventNames } from "@reporthook/core/store";
import { createEmulator, type NotificationName, type SignatureKind } from "@reporthook/emulator";
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { adviceFor, bareHint } from "../lib/advice.ts";
import { type CallbackChoice, signUrl, unsignedUrl, withCallback } from "../lib/callback.ts";
import { emulatorKey, playgroundUrl, program, webhookPath } from "../lib/environment.ts";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { exchange, isDelivered, objectIn, parsed } from "../lib/exchange.ts";
import { milliseconds } from "../lib/layout.ts";
import { choiceOption, oneOf, text, url, withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

// The service sends all but one.
const names = eventNames.filter((name): name is NotificationName => name !== "report.overdue");
const signatures: readonly SignatureKind[] = ["valid", "invalid", "expired", "none"];
const ofPlayground = playgroundUrl + webhookPath;

interface TriggerOptions extends CallbackChoice {
  readonly to: string;
  readonly reportId?: string;
  readonly signature: SignatureKind;
  readonly body?: string;
  readonly from?: string;
}

/** Adds `trigger NAME`, which sends one signed notification to an endpoint. */
export function addTrigger(program: Command, terminal: Terminal): void {
  const command = program
    .command("trigger")
    .summary("send one signed notification")
    .description(
      "Send one notification to an endpoint, signed like the playground's service.\n" +
        "An app that uses the real service will reject it.",
    )
    .addArgument(new Argument("[name]", "the event to send").choices(names).argParser(oneOf(names)))
    .addOption(
      new Option("--to <url>", "the endpoint")
        .argParser(url)
        .default(ofPlayground, "the playground"),
    )
    .option("--report-id <id>", "the report's id (default: a new one)", text)
    .addOption(choiceOption("--signature <kind>", "its signature", signatures).default("valid"))
    .option("--body <json>", "the body to send, unchanged (default: the usual one)", jsonObject)
    .option("--from <file>", "send a recorded notification: an exported fixture, or a body")
    .action((name: NotificationName | undefined, options: TriggerOptions) =>
      trigger(terminal, name, options),
    );
  withExamples(withCallback(command), {
    "to the playground (reporthook dev)": "reporthook trigger report.complete",
    "to your app": "reporthook trigger report --to http://127.0.0.1:3000/hook",
    "a recorded one": "reporthook trigger --from fixture.json --to http://127.0.0.1:3000/hook",
    "with a context, signed with REPORTS_CALLBACK_SECRET": `reporthook trigger report --context '{"id":1}' --to http://127.0.0.1:3000/`,
    "a forged one": "reporthook trigger report --signature invalid",
  });
}

/** Parses a JSON object, whose spelling is kept. */
function jsonObject(given: string): string {
  if (objectIn(given) !== null) return given;
  throw new InvalidArgumentError(
    `It must be a JSON object, like '{"payload":{"report_id":"r-1","status":"complete"}}'. --from sends any file.`,
  );
}

async function trigger(
  terminal: Terminal,
  named: NotificationName | undefined,
  options: TriggerOptions,
): Promise<void> {
  const { reportId, signature } = options;
  const to = unsignedUrl(options.to);
  const { name, body, contentType, context: recorded } = chosen(named, options);
  const emulator = createEmulator({ apiKey: emulatorKey() });
  const made = emulator.notification(name, { reportId, signature, body });
  const type = typeof contentType === "string" ? { "content-type": contentType } : {};
  const headers = { ...made.headers, ...type };
  const target = await signUrl(options.to, { ...options, recorded });
  const answer = await terminal.during(`Sending ${name}`, () =>
    exchange(target, { ...made, headers }),
  );
  if (answer.status === null) {
    const noPlayground = `no playground is running: start one with ${program()} dev, or name your app's webhook with --to`;
    const isMissing = to === ofPlayground && answer.cause === "ECONNREFUSED";
    const why = isMissing ? noPlayground : answer.error;
    throw new CommandFailed("not_delivered", `${to}: ${why}`);
  }
  const { status, ms } = answer;
  const result = { to, name, status, ms, body: parsed(answer.body) };
  const text = terminal.clean(answer.body);
  if (isDelivered(answer)) {
    const took = `${terminal.paint("green", String(status))} in ${milliseconds(ms)}`;
    const isBare = target !== options.to && (options.context ?? recorded) === undefined;
    const hints = isBare && name !== "test_webhook_endpoint" ? [bareHint] : [];
    return terminal.emit(result, [took, text, ...hints]);
  }
  if (text !== "") terminal.print(text);
  const { fix, type: line } = adviceFor(to, answer);
  const advice = `${fix[0]?.toLowerCase()}${fix.slice(1).replace(/\.$/, "")}`;
  // The user has just typed that.
  const rest = line.includes(" trigger ") ? "" : `, ${line}`;
  const message = `${to} answered ${status}, not 2xx: ${advice}${rest}`;
  throw new CommandFailed("not_delivered", message, result);
}

interface Chosen {
  readonly name: NotificationName;
  readonly body?: string;
  readonly contentType?: unknown;
  readonly context?: unknown;
}

/** The notification to send: a usual one, or one from a file. */
function chosen(
  name: NotificationName | undefined,
  { from, body, reportId }: TriggerOptions,
): Chosen {
  if (from === undefined) {
    if (name === undefined) {
      throw new UsageError(`missing required argument 'name': one of ${names.join(", ")}`);
    }
    return { name, ...(body !== undefined && { body }) };
  }
  if (name !== undefined || body !== undefined || reportId !== undefined) {
    throw new UsageError("--from sends a file unchanged: omit the name, --body and --report-id");
  }
  return recordedIn(from);
}

/** Reads a recorded notification: a fixture, or else the body itself. */
function recordedIn(file: string): Chosen {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = `${file} can't be read (${code})`;
    throw new CommandFailed("no_file", `${problem}: name the file of a notification`);
  }
  const { type, headers, body, context } = objectIn(text) ?? {};
  const isFixture = typeof headers === "object" && headers !== null && body !== undefined;
  if (!isFixture) return { name: "unknown", body: text };
  return {
    name: names.find((each) => each === type) ?? "unknown",
    body: typeof body === "string" ? body : JSON.stringify(body),
    contentType: (headers as Record<string, unknown>)["content-type"],
    // Without a context, `inbox show --json` has null.
    context: context ?? undefined,
  };
}
