import type { Entry } from "@reporthook/core";
import { inWords } from "@reporthook/core/store";
import { commandLine } from "../inbox/source.ts";
import { unsignedUrl } from "../lib/callback.ts";
import { publicKey } from "../lib/environment.ts";
import { hang, milliseconds, type Style, truncate } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import { askMs } from "./app-sender.ts";
import {
  type About,
  type ForwardedNotification,
  isProblem,
  type PlaygroundEvent,
  type ReceiverStep,
} from "./event.ts";
import { attempts } from "./own-receiver.ts";
import type { PlaygroundOptions } from "./playground.ts";

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
  const time = new Date().toTimeString().slice(0, 8);
  const isLost = what === "sent" && isProblem(event);
  const label = terminal.paint(styles[isLost ? "failed" : what], what.padEnd(8));
  const lead = `${time}  ${label}  `;
  const lines = hang(lead, textOf(event, apiKey, terminal), terminal, 20);
  if (what !== "parked" || "forward" in to) return lines;
  return [...lines, commandLine(`inbox release ${event.entry.id}`, { ...to, receiver }, terminal)];
}

function textOf(event: PlaygroundEvent, apiKey: string, terminal: Terminal): string {
  switch (event.what) {
    case "warning":
      return event.message;
    case "sent":
      return sentText(event.sent, terminal);
    case "refused":
      return refusedText(event, apiKey);
    case "asked":
      return `${nameOf(event)}: the service says ${event.verdict}${next(event.verdict)}`;
    case "unasked":
      return `${nameOf(event)}: the app did not ask this service within ${askMs / 1_000} s; start it with REPORTS_URL as above`;
    default:
      return `${event.entry.id} ${stepText(event.what, event.entry)}`;
  }
}

function stepText(what: ReceiverStep, entry: Entry): string {
  const { type, reportId, reason, lastError, nextAttemptAt } = entry;
  switch (what) {
    case "received":
      return "stored";
    case "failed": {
      const wait = nextAttemptAt === null ? 0 : nextAttemptAt.getTime() - Date.now();
      const again = nextAttemptAt === null ? "" : `; retry in ${inWords(wait)}`;
      return `attempt ${entry.attempts} of ${attempts}: ${lastError?.split("\n", 1) ?? ""}${again}`;
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

function refusedText({ name, id }: Partial<About>, apiKey: string): string {
  const about = name === undefined ? "" : `${nameOf({ name, id: id ?? null })}: `;
  const wanted = apiKey === publicKey ? `=${apiKey}` : " as it is here";
  return `${about}an app's API key (401): start the app with REPORTS_API_KEY${wanted}`;
}

/** The app's next step after a verdict; the service does not see more. */
function next(verdict: string): string {
  if (verdict.startsWith("valid")) return "; it is handled next, unless callback.require holds it";
  return verdict.startsWith("invalid") ? "; no handler runs" : "; it is held for a person";
}

function sentText(sent: ForwardedNotification, terminal: Terminal): string {
  const { url, name, status, durationMs, error, id, says } = sent;
  const about = `${name} to ${truncate(terminal.clean(unsignedUrl(url)), maxUrl)}`;
  if (status === null) return `${about}: ${error ?? "no answer"}`;
  const word = says === undefined ? "" : ` ${says}`;
  const stored = id === undefined ? "" : `, ${id}`;
  return `${about}: ${status}${word} in ${milliseconds(durationMs)}${stored}`;
}

function nameOf({ name, id }: About): string {
  return id === null ? name : `${id} ${name}`;
}
