import { describe } from "../lib/describe.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { Timekeeper } from "../lib/time/timekeeper.ts";
import { settlesWithin, withTimeout } from "../lib/time/timeout.ts";
import type { Counts, InboxHealth } from "./inbox.ts";
import { zeroCounts } from "./query.ts";
import type { OfReceiver } from "./receiver-inbox.ts";

/** The health of a receiver. */
export interface Health {
  /** Whether it accepts notifications: false while closing, or when the inbox fails. */
  readonly ready: boolean;
  readonly inbox: InboxHealth;
  /** The last answer of the service. */
  readonly service: "unknown" | "ok" | "unreachable" | "refused";
  /** Age of the oldest delivery that is neither handled nor parked, in milliseconds. */
  readonly oldestWaitingMs: number | null;
  /** All zero when the inbox fails, or is closed with the receiver; `inbox.error` says if they are old. */
  readonly counts: Counts;
}

/** The state of a receiver and of the service, shared by the parts of the receiver. */
export interface Status {
  service: Health["service"];
  /** Whether the work was started: then it is too late for `on`. */
  started: boolean;
  closing: boolean;
  /** Whether no more work is begun. */
  stopped: boolean;
  /** Whether nothing more is stored. */
  closed: boolean;
  /** A note in the inbox' health for 10 minutes, and since when by `performance.now()`. */
  note: { readonly text: string; readonly since: number } | null;
}

/** The {@link Status} of a new receiver. */
export function newStatus(): Status {
  return {
    service: "unknown",
    started: false,
    closing: false,
    stopped: false,
    closed: false,
    note: null,
  };
}

// Longer than an inbox takes to find out that it fails.
const answerMs = 4_000;
// Longer than a server is let count.
const countMs = 60_000;
const noteMs = 600_000;

/**
 * Asks an inbox for its health, unless it is closed: that would open it again. It fails without an answer within 4 seconds. If
 * only the counting takes longer, as with millions of deliveries on PostgreSQL, the last counts are reported.
 */
export function watchHealth(
  { inbox, name, clock: given, time = new Timekeeper(new LivedClock(given), inbox) }: OfReceiver,
  status: Readonly<Status> = newStatus(),
): () => Promise<Health> {
  const { clock } = time;
  let counted: Counted = { at: null, oldest: null, counts: zeroCounts() };
  let counting: Promise<void> | undefined;

  async function count(): Promise<void> {
    await time.join();
    const at = clock.now();
    const [oldest, counts] = await Promise.all([inbox.oldestWaiting(name), inbox.counts(name)]);
    counted = { at, oldest, counts };
  }

  /** Resolves to whether the counts are new; a caller that joins is not told that counting failed. */
  async function isCounted(ms: number): Promise<boolean> {
    const isJoined = counting !== undefined;
    counting ??= withTimeout({ clock, ms: countMs, late: "It took too long" }, count).finally(
      () => {
        counting = undefined;
      },
    );
    const done = settlesWithin(clock, ms, counting);
    return isJoined ? done.catch(() => false) : done;
  }

  return async () => {
    const { service } = status;
    const began = clock.now();
    const late = `The inbox gave no answer within ${answerMs} ms`;
    try {
      if (status.closed) return failing({ ok: true }, service);
      const health = await withTimeout({ clock, ms: answerMs, late }, () => inbox.health());
      if (!health.ok || status.closed) return failing(health, service);
      const isNew = await isCounted(Math.max(0, began + answerMs - clock.now()));
      if (status.closed) return failing(health, service);
      const { at, oldest, counts } = counted;
      const oldestWaitingMs = oldest === null ? null : Math.max(0, clock.now() - oldest.getTime());
      const note = isNew
        ? recent(status.note)
        : outdated(at === null ? null : at + clock.wallOffset);
      const told = note === null ? health : { ...health, error: note };
      return { ready: !status.closing, inbox: told, service, oldestWaitingMs, counts };
    } catch (error) {
      return failing({ ok: false, error: describe(error) }, service);
    }
  };
}

interface Counted {
  readonly at: number | null;
  readonly oldest: Date | null;
  readonly counts: Counts;
}

function recent(note: Status["note"]): string | null {
  return note !== null && performance.now() - note.since < noteMs ? note.text : null;
}

function outdated(at: number | null): string {
  const since = at === null ? "none are known" : `counts are of ${new Date(at).toISOString()}`;
  return `It takes over ${answerMs} ms to count: ${since}`;
}

function failing(inbox: InboxHealth, service: Health["service"]): Health {
  return { ready: false, inbox, service, oldestWaitingMs: null, counts: zeroCounts() };
}
