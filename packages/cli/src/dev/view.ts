import { playgroundPort, program } from "../lib/environment.ts";
import { isDelivered } from "../lib/exchange.ts";
import { duration, hang, milliseconds, pairs, quoted, truncate } from "../lib/layout.ts";
import { publicKey } from "../lib/redact.ts";
import type { Style, Terminal } from "../lib/terminal.ts";
import { type Ask, askMs } from "./asks.ts";
import { attempts, completeMs, type Playground, type PlaygroundEvent } from "./playground.ts";
import type { ForwardedNotification } from "./serve.ts";

/** The settings of a playground. */
export interface Setting {
  readonly playground: Playground;
  readonly apiKey: string;
  readonly to: { readonly forward: string } | { readonly db: string };
}

const styles: Readonly<Record<PlaygroundEvent["what"], Style>> = {
  received: "cyan",
  verified: "cyan",
  handled: "green",
  failed: "yellow",
  parked: "red",
  rejected: "dim",
  refused: "red",
  sent: "green",
  asked: "cyan",
  unasked: "red",
  warning: "yellow",
};

/** Maximum characters of an address: anybody can request a report with a longer one. */
const maxUrl = 200;

/** The lines printed when the playground is ready. */
export function welcome({ playground, apiKey, to }: Setting, terminal: Terminal): string[] {
  const { url, webhook, dashboard } = playground;
  const title = terminal.paint("bold", "The playground is running; Ctrl-C ends it.");
  const facts: (readonly [string, string])[] = [
    ["  service", `${url} (emulated)`],
    ["  webhook", webhook],
    "forward" in to ? ["  forwards", to.forward] : ["  inbox", to.db],
    ...(dashboard === null ? [] : [["  dashboard", dashboard] as const]),
  ];
  const isPublic = apiKey === publicKey;
  const variables = isPublic
    ? "these variables"
    : "this variable, and the same REPORTS_API_KEY as here";
  const key = isPublic ? ` REPORTS_API_KEY=${apiKey}` : "";
  const yours = [
    ...["", `Start your app with ${variables}:`, "", `  REPORTS_URL=${url}${key}`],
    ...["", "To see what your handlers do, run in your app's folder:", ""],
    `  ${program()} inbox watch`,
  ];
  const isUsual = Number(new URL(url).port) === playgroundPort;
  const trigger = `  ${program()} trigger report.complete`;
  return [
    title,
    "",
    ...pairs(facts, terminal),
    ...("forward" in to ? yours : []),
    ...[
      "",
      "Send a notification from another terminal:",
      "",
      isUsual ? trigger : `${trigger} \\\n    --to ${webhook}`,
    ],
    ...["", "or type a letter here, then Enter:", ""],
    ...letters("forward" in to),
    "",
  ];
}

/** The letters that the playground accepts. */
export function letters(forwards: boolean): string[] {
  return [
    "  t  send a test notification",
    `  r  request a report, which is complete after ${completeMs / 1_000} seconds`,
    ...(forwards ? [] : ["  b  break the handler", "  f  fix it"]),
    "  q  quit",
  ];
}

/** The lines for one event. */
export function happeningLines(
  happening: PlaygroundEvent,
  { apiKey, to: setting }: Omit<Setting, "playground">,
  terminal: Terminal,
): string[] {
  const { what } = happening;
  const time = new Date().toTimeString().slice(0, 8);
  const label = terminal.paint(styles[isLost(happening) ? "failed" : what], what.padEnd(8));
  const lead = `${time}  ${label}  `;
  const text = happening.what === "refused" ? refusedText(apiKey) : textOf(happening, terminal);
  const lines = hang(lead, text, terminal, 20);
  if (what !== "parked" || "forward" in setting) return lines;
  const release = `${program()} inbox release ${happening.entry.id}`;
  const db = `--db ${quoted(setting.db)}`;
  const isLong = `${release} ${db}`.length > terminal.columns;
  return [...lines, `${release} ${isLong ? "\\\n    " : ""}${db}`];
}

function refusedText(apiKey: string): string {
  const wanted = apiKey === publicKey ? `=${apiKey}` : " as it is here";
  return `an app's API key (401): start the app with REPORTS_API_KEY${wanted}`;
}

function textOf(
  happening: Exclude<PlaygroundEvent, { readonly what: "refused" }>,
  terminal: Terminal,
): string {
  if (happening.what === "warning") return happening.message;
  if (happening.what === "sent") return sentText(happening.sent, terminal);
  if (happening.what === "asked" || happening.what === "unasked") return askText(happening);
  const { what, entry } = happening;
  return `${entry.id} ${stepText(what, entry)}`;
}

function stepText(
  what: Exclude<PlaygroundEvent["what"], "warning" | "sent" | "refused" | Ask["what"]>,
  entry: (PlaygroundEvent & { readonly what: "received" })["entry"],
): string {
  const { type, reportId, reason, lastError, nextAttemptAt } = entry;
  switch (what) {
    case "received":
      return `stored; passed to the inbox after ${milliseconds(entry.ackMs)}`;
    case "failed": {
      const wait = nextAttemptAt === null ? 0 : nextAttemptAt.getTime() - Date.now();
      const next = nextAttemptAt === null ? "" : `; retry in ${duration(wait)}`;
      return `attempt ${entry.attempts} of ${attempts}: ${lastError?.split("\n", 1) ?? ""}${next}`;
    }
    case "parked":
    case "rejected":
      return `${entry.state}: ${reason?.message ?? ""}`;
    case "verified":
      return `${type ?? "not understood"}`;
    case "handled":
      return `${type ?? ""}${reportId === null ? "" : `, report ${reportId}`}`;
  }
}

function askText(ask: Ask): string {
  const about = `${ask.id === null ? "" : `${ask.id} `}${ask.name}`;
  if (ask.what === "asked") return `${about}: the service says ${ask.verdict}`;
  const seconds = askMs / 1_000;
  return `${about}: the app did not ask this service within ${seconds} s; start it with REPORTS_URL as above`;
}

function sentText(
  { url, name, status, durationMs, error, id }: ForwardedNotification,
  terminal: Terminal,
): string {
  const answer =
    status === null ? (error ?? "no answer") : `${status} in ${milliseconds(durationMs)}`;
  const stored = id === undefined ? "" : `, ${id}`;
  return `${name} to ${truncate(terminal.clean(url), maxUrl)}: ${answer}${stored}`;
}

function isLost(happening: PlaygroundEvent): boolean {
  return happening.what === "sent" && !isDelivered(happening.sent);
}
