import {
  type Client,
  createReceiver,
  type Entry,
  type Logger,
  type Receiver,
} from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { callbackSecret } from "../lib/callback.ts";
import type { ReceiverStep, Tell } from "./event.ts";

/** Attempts of the playground's handler. */
export const attempts = 3;

/** Creates the playground's receiver. Its handler does nothing, or fails on demand; each step is reported. */
export function createOwnReceiver(
  client: Client,
  {
    db,
    receiver: name,
    tell,
  }: { readonly db: string; readonly receiver: string; readonly tell: Tell },
  note: (what: ReceiverStep, entry: Entry) => void,
  isBroken: () => boolean,
): Receiver {
  const step = (what: ReceiverStep) => (entry: Entry) => note(what, entry);
  const warn = warnTo(tell);
  const secret = callbackSecret();
  const receiver = createReceiver({
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
      acknowledged: step("received"),
      verified: (entry) => note(entry.state === "rejected" ? "rejected" : "verified", entry),
      handled: step("handled"),
      failed: step("failed"),
      parked: step("parked"),
    },
  });
  return receiver.on("*", () => {
    if (isBroken()) throw new Error("the handler is broken");
  });
}

/** The logger of a dashboard: hooks report the steps of a released delivery. */
export function dashboardLogger(tell: Tell): Pick<Logger, "info" | "error"> {
  return { info: () => {}, error: warnTo(tell) };
}

/** A logger's function that reports warnings. */
function warnTo(tell: Tell): Logger["warn"] {
  return (fields, message) => {
    const { headers, error } = fields;
    const detail = Array.isArray(headers) ? `Headers: ${headers.join(", ")}.` : (error ?? "");
    tell({ what: "warning", message: `${message} ${detail}`.trim() });
  };
}
