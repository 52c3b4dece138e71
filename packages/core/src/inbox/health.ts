import { describe } from "../lib/describe.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { Timekeeper } from "../lib/time/timekeeper.ts";
import { settlesWithin, withTimeout } from "../lib/time/timeout.ts";
import type { Counts, InboxHealth } from "./inbox.ts";
import { zeroCounts } from "./query.ts";
import type { OfReceiver } from "./receiver-inbox.ts";
import { type Life, outside } from "./receivers.ts";

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

// Longer than an inbox takes to find out that it fails.
const answerMs = 4_000;
// Longer than a server is let count.
const countMs = 60_000;

/**
 * Asks an inbox for its health, unless it is closed: that would open it again. It fails without an answer within 4 seconds. If
 * only the counting takes longer, as with millions of deliveries on PostgreSQL, the last counts are reported.
 */
export function watchHealth(
  { inbox, name, clock: given, time = new Timekeeper(new LivedClock(given), inbox) }: OfReceiver,
  life: Life = outside,
  authorize: { readonly service: Health["service"] } = { service: "unknown" },
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

  const isClosed = (): boolean => life.phase === "closed";

  return async () => {
    const { service } = authorize;
    const began = clock.now();
    const late = `The inbox gave no answer within ${answerMs} ms`;
    try {
      if (isClosed()) return failing({ ok: true }, service);
      const health = await withTimeout({ clock, ms: answerMs, late }, () => inbox.health());
      if (!health.ok || isClosed()) return failing(health, service);
      const isNew = await isCounted(Math.max(0, began + answerMs - clock.now()));
      if (isClosed()) return failing(health, service);
      const { at, oldest, counts } = counted;
      const oldestWaitingMs = oldest === null ? null : Math.max(0, clock.now() - oldest.getTime());
      const note = isNew ? life.note : outdated(at === null ? null : at + clock.wallOffset);
      const told = note === null ? health : { ...health, error: note };
      return { ready: life.phase !== "closing", inbox: told, service, oldestWaitingMs, counts };
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

function outdated(at: number | null): string {
  const since = at === null ? "none are known" : `counts are of ${new Date(at).toISOString()}`;
  return `It takes over ${answerMs} ms to count: ${since}`;
}

function failing(inbox: InboxHealth, service: Health["service"]): Health {
  return { ready: false, inbox, service, oldestWaitingMs: null, counts: zeroCounts() };
}
