import {
  type Client,
  createReceiver,
  type Entry,
  type Logger,
  type Receiver,
} from "@reporthook/core";
import { dashboard } from "@reporthook/dashboard";
import { onNode } from "@reporthook/dashboard/node";
import { sqliteInbox } from "@reporthook/sqlite";
import { fileSize, openInbox } from "../inbox/source.ts";
import { callbackSecret } from "../lib/callback.ts";
import { playgroundFile, program } from "../lib/environment.ts";
import { CommandFailed } from "../lib/errors.ts";
import { quoted } from "../lib/layout.ts";
import type { History, ReceiverStep } from "./history.ts";
import type { Handle } from "./serve.ts";

/** Attempts of the playground's handler. */
export const attempts = 3;

/** The note by which the playground knows its file. */
const mark = "playground";

/**
 * Marks a file as the playground's, before it is started there.
 *
 * @throws CommandFailed `not_own` if an app uses the file: the playground would take its deliveries
 */
export async function claimFile(db: string, name: string): Promise<void> {
  const inbox = fileSize(db) === 0 ? sqliteInbox(db) : await openInbox({ db });
  try {
    for (const one of (await inbox.receivers?.()) ?? []) {
      if (db === playgroundFile || (await inbox.notes(one, mark))[mark] !== undefined) continue;
      const look = `${program()} dashboard --db ${quoted(db)}`;
      const message = `${db} is the inbox of an app, whose deliveries the playground would handle: name another file with --db, or look at this one with ${look}`;
      throw new CommandFailed("not_own", message);
    }
    await inbox.keepNotes(name, { [mark]: "1" });
  } finally {
    await inbox.close();
  }
}

/** Creates the playground's receiver, without a handler; each step of a delivery is reported, and kept in the history. */
export function createOwnReceiver(
  client: Client,
  db: string,
  name: string,
  history: History,
): Receiver {
  const note = (step: ReceiverStep, entry: Entry): void => {
    const { id, type } = entry;
    const known = history.all.findLast((one) => one.id === id);
    const sent = known ?? history.add({ name: "", id, step, request: null });
    sent.name = type ?? sent.name;
    history.tell({ what: step, entry }, sent);
  };
  const warn = warnTo(history);
  const secret = callbackSecret();
  return createReceiver({
    client,
    name,
    inbox: sqliteInbox(db),
    callback: secret === null ? undefined : { secrets: [secret] },
    autostart: false,
    retry: { attempts, minMs: 1_000, maxMs: 10_000 },
    logger: {
      // Hooks report the steps of a delivery.
      warn: (fields, message) => "id" in fields || warn(fields, message),
      error: warn,
    },
    observe: {
      acknowledged: (entry) => note("received", entry),
      verified: (entry) => note(entry.state === "rejected" ? "rejected" : "verified", entry),
      handled: (entry) => note("handled", entry),
      failed: (entry) => note("failed", entry),
      parked: (entry) => note("parked", entry),
    },
  });
}

/** The page of an inbox: hooks report the steps of a released delivery. */
export function pageOf(inbox: Parameters<typeof dashboard>[0], history: History): Handle {
  return onNode(dashboard(inbox, { logger: { info: () => {}, error: warnTo(history) } }));
}

function warnTo(history: History): Logger["warn"] {
  return (fields, message) => {
    const { headers, error } = fields;
    const detail = Array.isArray(headers) ? `Headers: ${headers.join(", ")}.` : (error ?? "");
    history.tell({ what: "warning", message: `${message} ${detail}`.trim() });
  };
}
