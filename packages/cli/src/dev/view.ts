import { Buffer } from "node:buffer";
import { inWords } from "@reporthook/core/store";
import { commandLine } from "../inbox/source.ts";
import { entryLines } from "../inbox/view.ts";
import { callbackSecret, secretVariable, unsignedUrl } from "../lib/callback.ts";
import { appFile, playgroundPort, program, publicKey } from "../lib/environment.ts";
import { exitStatusOf } from "../lib/errors.ts";
import { type Exchange, isDelivered } from "../lib/exchange.ts";
import {
  hang,
  milliseconds,
  pairs,
  quoted,
  type Style,
  timeOfDay,
  truncate,
} from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import { askMs } from "./app-sender.ts";
import { type About, isProblem, type PlaygroundEvent, type SentNotification } from "./history.ts";
import { attempts } from "./own-receiver.ts";
import { completeMs, type Playground, type PlaygroundOptions } from "./playground.ts";

/** The lines printed when the playground is ready, but for the keys. */
export function welcome(playground: Playground, terminal: Terminal): string[] {
  const { url, webhook, dashboard, forwards } = playground;
  const { to, apiKey } = playground.options;
  const facts: (readonly [string, string | null])[] = [
    ["  service", `${url} (emulated)`],
    ["  webhook", webhook],
    "forward" in to ? ["  forwards", to.forward] : ["  inbox", to.db],
    ["  dashboard", forwards && dashboard ? `${dashboard} (${appFile} here)` : dashboard],
  ];
  const isUsual = Number(new URL(url).port) === playgroundPort;
  const trigger = `  ${program()} trigger report.complete`;
  const isPublic = apiKey === publicKey;
  const variables = isPublic
    ? "these variables"
    : "this variable, and the same REPORTS_API_KEY as here";
  const forYourApp = [
    "",
    `Start your app with ${variables}:`,
    "",
    `  REPORTS_URL=${quoted(url)}${isPublic ? ` REPORTS_API_KEY=${apiKey}` : ""}`,
    "",
    `With callback.require, give it and this the same ${secretVariable}.`,
    "",
    "To see what your handlers do, run in your app's folder:",
    "",
    `  ${program()} inbox list --newest-first`,
  ];
  return [
    terminal.paint("bold", "The playground is running; Ctrl-C ends it."),
    "",
    ...pairs(facts, terminal),
    ...(forwards ? forYourApp : []),
    "",
    "Send a notification from another terminal:",
    "",
    isUsual ? trigger : `${trigger} \\\n    --to ${quoted(webhook)}`,
  ];
}

/** The keys that the playground accepts; without `hasKeys` they are letters, each with Enter. */
export function keyLines({ forwards }: Playground, hasKeys: boolean): string[] {
  return [
    ...(hasKeys ? ["  ↑ ↓  choose a notification, which the last line shows"] : []),
    `  r  send ${hasKeys ? "it" : "the newest"} again, with a new signature`,
    "  d  its details",
    "  o  open it in a browser",
    "  t  send a test notification",
    `  n  request a new report, which is complete after ${completeMs / 1_000} seconds`,
    ...(forwards ? [] : ["  b  break the handler", "  f  fix it"]),
    "  q  quit",
  ];
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

/** The lines for one event. */
export function eventLines(
  event: PlaygroundEvent,
  { apiKey, to, receiver }: Pick<PlaygroundOptions, "apiKey" | "to" | "receiver">,
  terminal: Terminal,
): string[] {
  const { what } = event;
  const isLost = what === "sent" && isProblem(event);
  const label = terminal.paint(styles[isLost ? "failed" : what], what.padEnd(8));
  const lead = `${timeOfDay()}  ${label}  `;
  const lines = hang(lead, textOf(event, apiKey, terminal), terminal);
  if (what !== "parked" || "forward" in to) return lines;
  return [...lines, commandLine(`inbox release ${event.entry.id}`, { ...to, receiver }, terminal)];
}

function textOf(event: PlaygroundEvent, apiKey: string, terminal: Terminal): string {
  switch (event.what) {
    case "received":
      return `${event.entry.id} stored`;
    case "verified":
      return `${event.entry.id} ${event.entry.type ?? "not understood"}`;
    case "handled": {
      const { id, type, reportId } = event.entry;
      return `${id} ${type ?? ""}${reportId === null ? "" : `, report ${reportId}`}`;
    }
    case "failed": {
      const { id, attempts: made, lastError, nextAttemptAt } = event.entry;
      const wait = Number(nextAttemptAt) - Date.now();
      const again = nextAttemptAt === null ? "" : `; retry in ${inWords(wait)}`;
      return `${id} attempt ${made} of ${attempts}: ${lastError?.split("\n", 1) ?? ""}${again}`;
    }
    case "parked":
    case "rejected":
      return `${event.entry.id} ${event.entry.state}: ${event.entry.reason?.message ?? ""}`;
    case "sent": {
      const { url, name, status, durationMs, error, id, says = "" } = event.sent;
      const about = `${name} to ${truncate(terminal.clean(unsignedUrl(url)), maxUrl)}`;
      if (status === null) return `${about}: ${error ?? "no answer"}`;
      const stored = id === undefined ? "" : `, ${id}`;
      const done = `${status} ${says && `${says} `}in ${milliseconds(durationMs)}${stored}`;
      return `${about}: ${done}${error === undefined ? "" : `. ${error}`}`;
    }
    case "asked":
      return `${nameOf(event)}the service says ${event.verdict}${next(event.verdict)}`;
    case "unasked":
      return `${nameOf(event)}the app did not ask this service within ${askMs / 1_000} s: start it with REPORTS_URL as above, and call start() if autostart is off`;
    case "refused": {
      const wanted = apiKey === publicKey ? `=${apiKey}` : " as it is here";
      return `${nameOf(event)}an app's API key (401): start the app with REPORTS_API_KEY${wanted}`;
    }
    case "warning":
      return event.message;
  }
}

/** The app's next step after a verdict; the service does not see more. */
function next(verdict: string): string {
  const held = callbackSecret() === null ? ", or callback.require holds it" : "";
  if (verdict.startsWith("valid")) return `; its handlers run next, if it has any${held}`;
  return verdict.startsWith("invalid") ? "; no handler runs" : "; it is held for a person";
}

function nameOf({ name, id }: Partial<About>): string {
  if (name === undefined) return "";
  return id ? `${id} ${name}: ` : `${name}: `;
}

const maxShown = 2_000;

/** The details of a notification: how an app answered it, and its delivery where the inbox is at hand. */
export async function detailLines(
  sent: SentNotification,
  playground: Playground,
  terminal: Terminal,
): Promise<string[]> {
  const { name, id, request, answer, verdict } = sent;
  const title = terminal.paint("bold", terminal.clean(id === null ? name : `${name} ${id}`));
  const facts: [string, string][] = [
    ["sent to", truncate(request?.url ?? "", maxShown)],
    ["answer", answerText(answer)],
    ["asked", verdict === undefined ? "the app has not asked the service" : `yes: ${verdict}`],
  ];
  const lines = [title, ...(request === null ? [] : pairs(facts, terminal))];
  let problem: readonly string[] = [];
  try {
    const details = await playground.find(sent);
    if (details !== null) return [...lines, ...entryLines(details, terminal)];
  } catch (error) {
    problem = hang("", exitStatusOf(error).message, terminal);
  }
  const body = Buffer.from(request?.body ?? "").toString();
  lines.push("", terminal.paint("bold", "Body"), terminal.clean(truncate(body, maxShown)));
  if (id !== null) {
    const look = `${program()} inbox show ${id}`;
    lines.push("", "Only the app's inbox knows what became of it:", look);
  }
  return [...lines, ...problem];
}

/** The line below all others: the notification that the keys mean. */
export function chosenLine({ history }: Playground): string {
  const { chosen, index, all } = history;
  if (chosen === undefined) return "No notification yet.  t test  n new report  ? keys  q quit";
  const { name, id, step } = chosen;
  const about = [`${index + 1}/${all.length}`, name, id?.slice(0, 10) ?? "", step];
  return `${about.filter((part) => part !== "").join(" ")}  ↑↓  r again  d details  o page`;
}

function answerText(answer: Exchange | undefined): string {
  if (answer === undefined) return "none yet";
  if (answer.status === null) return answer.error;
  const text = `${answer.status} in ${milliseconds(answer.ms)}`;
  return isDelivered(answer) ? text : `${text}: ${truncate(answer.body, maxShown)}`;
}
