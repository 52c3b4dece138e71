import { Buffer } from "node:buffer";
import { entryLines } from "../inbox/view.ts";
import { program } from "../lib/environment.ts";
import { exitStatusOf } from "../lib/errors.ts";
import { type Exchange, isDelivered } from "../lib/exchange.ts";
import { hang, milliseconds, pairs, truncate } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { SentNotification } from "./history.ts";
import type { Playground } from "./playground.ts";

const maxShown = 2_000;

/** The details of a notification: how an app answered it, and its delivery where the inbox is at hand. */
export async function detailLines(
  sent: SentNotification,
  playground: Playground,
  terminal: Terminal,
): Promise<string[]> {
  const { name, id, request } = sent;
  const title = terminal.paint("bold", terminal.clean(id === null ? name : `${name} ${id}`));
  const exchanged = request === null ? [] : pairs(exchangeFacts(sent), terminal);
  try {
    const details = await playground.find(sent);
    if (details !== null) return [title, ...exchanged, ...entryLines(details, terminal)];
    return [title, ...exchanged, ...bodyLines(sent, terminal)];
  } catch (error) {
    const problem = hang("", exitStatusOf(error).message, terminal);
    return [title, ...exchanged, ...bodyLines(sent, terminal), ...problem];
  }
}

/** The line below all others: the notification that the keys mean. */
export function chosenLine({ history }: Playground): string {
  const { chosen, position, all } = history;
  if (chosen === undefined) return "No notification yet.  t test  n new report  ? keys  q quit";
  const { name, id, step } = chosen;
  const about = [`${position}/${all.length}`, name, id?.slice(0, 10) ?? "", step];
  return `${about.filter((part) => part !== "").join(" ")}  ↑↓  r again  d details  o page`;
}

function exchangeFacts({ request, answer, verdict }: SentNotification): [string, string][] {
  return [
    ["sent to", truncate(request?.url ?? "", maxShown)],
    ["answer", answer === undefined ? "none yet" : answerText(answer)],
    ["asked", verdict === undefined ? "the app has not asked the service" : `yes: ${verdict}`],
  ];
}

function answerText(answer: Exchange): string {
  if (answer.status === null) return answer.error;
  const text = `${answer.status} in ${milliseconds(answer.ms)}`;
  return isDelivered(answer) ? text : `${text}: ${truncate(answer.body, maxShown)}`;
}

function bodyLines({ id, request }: SentNotification, terminal: Terminal): string[] {
  const body = Buffer.from((request?.body ?? "") as Uint8Array).toString();
  return [
    "",
    terminal.paint("bold", "Body"),
    terminal.clean(truncate(body, maxShown)),
    ...(id === null
      ? []
      : ["", "Only the app's inbox knows what became of it:", `${program()} inbox show ${id}`]),
  ];
}
