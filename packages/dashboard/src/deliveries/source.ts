import type { Health, Inbox, Receiver } from "@reporthook/core";
import {
  assertKnownKeys,
  inside,
  Lookout,
  receiverInbox,
  type StoredReports,
  storedReports,
  Timekeeper,
} from "@reporthook/core/store";

/** The source of a dashboard: a receiver, or an inbox with {@link ofInbox}. */
export interface Source {
  readonly inbox: Receiver["inbox"];
  health(): Promise<Health>;
  /** The receiver's, for metrics, log lines and commands. Default: `"reports"`. */
  readonly name?: string | undefined;
  /** The receiver's. Without them the dashboard shows deliveries alone. */
  readonly reports?: StoredReports | undefined;
}

/**
 * Checks that a dashboard can show the source.
 *
 * @throws TypeError that shows the line to write
 */
export function checkSource(source: Source): void {
  // JavaScript may pass anything; the value may hold secrets and is not quoted.
  const given = source as { readonly [K in keyof Source]?: unknown } | null | undefined;
  if (typeof given?.health === "function" && isInbox(given.inbox)) return;
  throw new TypeError(
    "The argument is neither a receiver nor ofInbox(…). Write: dashboard(receiver), or dashboard(ofInbox(inbox)) for an inbox without receiver",
  );
}

function isInbox(inbox: unknown): boolean {
  return typeof (inbox as { readonly list?: unknown } | null | undefined)?.list === "function";
}

/** The {@link Lookout} of a source; null of a receiver that is wrapped. */
export function insideOf(source: Source): Lookout | null {
  return (source as { readonly [inside]?: Lookout })[inside] ?? null;
}

/** Resolves to what reports answer, or to `none` without any: they reject with a TypeError if the inbox keeps none. */
export async function ifKept<T>(asked: Promise<T> | undefined, none: T): Promise<T> {
  try {
    return asked === undefined ? none : await asked;
  } catch (error) {
    if (error instanceof TypeError) return none;
    throw error;
  }
}

/** Options of {@link ofInbox}. */
export interface InboxOptions {
  /** The name of the receiver. Default: `"reports"`. */
  readonly receiver?: string | undefined;
}

/**
 * Makes an inbox the source of a dashboard, for a tool that opens an app's file.
 *
 * @throws TypeError if the argument is not an inbox, or for an unknown option
 * @example const page = dashboard(ofInbox(sqliteInbox("inbox.db", { migrate: false })));
 */
export function ofInbox(inbox: Inbox, options: InboxOptions = {}): Source {
  if (!isInbox(inbox)) {
    throw new TypeError(
      'ofInbox: the first argument must be an inbox, like sqliteInbox("inbox.db")',
    );
  }
  assertKnownKeys("ofInbox", options, ["receiver"]);
  const { receiver = "reports" } = options;
  const of = { inbox, name: receiver, time: new Timekeeper(inbox) };
  const lookout = new Lookout(of);
  const deliveries = receiverInbox(of, async () => {});
  return Object.assign(
    { health: lookout.health, inbox: deliveries, name: receiver, reports: storedReports(of) },
    { [inside]: lookout },
  );
}
