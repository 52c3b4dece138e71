import type { Clock } from "./clock.ts";
import { describe } from "./errors.ts";
import type { Counts, Inbox, InboxHealth } from "./inbox.ts";
import { noCounts } from "./look.ts";
import { isDoneIn, within } from "./within.ts";

/** How a receiver is doing. */
export interface Health {
  /** Whether it takes notifications: not when closing, nor when the inbox fails. */
  readonly ready: boolean;
  readonly inbox: InboxHealth;
  /** How the service answered last. */
  readonly service: "unknown" | "ok" | "unreachable" | "refused";
  /** Age of the oldest delivery that is neither handled nor parked, in milliseconds. */
  readonly oldestWaitingMs: number | null;
  /** All zero when the inbox fails, or is closed with the receiver. */
  readonly counts: Counts;
}

// Longer than an inbox takes to find out that it fails.
const answerMs = 4_000;

/** Asks how a receiver is doing: its service, whether it closes, and whether its inbox is closed. Rejects never. */
export type AskHealth = (
  service: Health["service"],
  closing: boolean,
  closed: () => boolean,
) => Promise<Health>;

/**
 * Asks an inbox how it is doing, unless it is closed: that would open it again. One that gives no answer within 4 seconds
 * fails. One that only takes longer to count, as with millions of deliveries on PostgreSQL, does not: what it counted
 * last is told.
 */
export function watchHealth({
  inbox,
  name,
  clock,
}: {
  readonly inbox: Inbox;
  readonly name: string;
  readonly clock: Clock;
}): AskHealth {
  let counted: { readonly oldest: Date | null; readonly counts: Counts } | undefined;
  let counting: Promise<void> | undefined;

  async function count(): Promise<void> {
    try {
      const [oldest, counts] = await Promise.all([inbox.oldestWaiting(name), inbox.counts(name)]);
      counted = { oldest, counts };
    } finally {
      counting = undefined;
    }
  }

  return async (service, closing, closed) => {
    const late = `The inbox gave no answer within ${answerMs} ms`;
    try {
      const asked = (): Promise<InboxHealth> => inbox.health();
      const health = closed() ? { ok: true } : await within({ clock, ms: answerMs, late }, asked);
      if (!health.ok || closed()) return failing(health, service);
      counting ??= count();
      await isDoneIn(clock, answerMs, counting);
      const { oldest, counts } = counted ?? { oldest: null, counts: noCounts() };
      const oldestWaitingMs = oldest === null ? null : Math.max(0, clock.now() - oldest.getTime());
      return { ready: !closing, inbox: health, service, oldestWaitingMs, counts };
    } catch (error) {
      return failing({ ok: false, error: describe(error) }, service);
    }
  };
}

function failing(inbox: InboxHealth, service: Health["service"]): Health {
  return { ready: false, inbox, service, oldestWaitingMs: null, counts: noCounts() };
}
