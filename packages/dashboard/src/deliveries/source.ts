import type { Health, Inbox, Receiver } from "@reporthook/core";
import {
  assertKnownKeys,
  inside,
  Lookout,
  receiverInbox,
  type StoredReports,
  storedReports,
  toolView,
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

/** A source with all that a dashboard asks it for; it has no lookout if it is a receiver that is wrapped. */
export type ShownSource = Source & { readonly name: string; readonly lookout: Lookout | null };

type Inside = Source & { readonly [inside]?: Lookout };

const usualName = "reports";

/**
 * Completes a source that a dashboard can show.
 *
 * @throws TypeError that shows the line to write
 */
export function shownSource(source: Source): ShownSource {
  // JavaScript may pass anything; the value may hold secrets and is not quoted.
  const given = source as { readonly [K in keyof Source]?: unknown } | null | undefined;
  if (typeof given?.health !== "function" || !isInbox(given.inbox)) {
    throw new TypeError(
      "The argument is neither a receiver nor ofInbox(…). Write: dashboard(receiver), or dashboard(ofInbox(inbox)) for an inbox without receiver",
    );
  }
  const { inbox, reports, name = usualName, [inside]: lookout = null } = source as Inside;
  return { inbox, health: () => source.health(), reports, name, lookout };
}

function isInbox(inbox: unknown): boolean {
  return typeof (inbox as { readonly list?: unknown } | null | undefined)?.list === "function";
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
  const { receiver = usualName } = options;
  const of = toolView(inbox, receiver);
  const lookout = new Lookout(of);
  const deliveries = receiverInbox(of);
  return Object.assign(
    { health: lookout.health, inbox: deliveries, name: receiver, reports: storedReports(of) },
    { [inside]: lookout },
  );
}
