import type { Clock } from "./clock.ts";
import { describe } from "./errors.ts";
import type { Counts, Inbox, InboxHealth } from "./inbox.ts";
import { noCounts } from "./look.ts";

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

/** What is asked how it is doing. */
interface Asked {
  readonly inbox: Inbox;
  readonly name: string;
  readonly clock: Clock;
}

/** Asks an inbox how it is doing, unless it is closed: that would open it again. Rejects never, whatever the inbox does. */
export async function healthOf(
  { inbox, name, clock }: Asked,
  service: Health["service"],
  at: { readonly closing: boolean; readonly closed: boolean },
): Promise<Health> {
  try {
    if (at.closed) return failing({ ok: true }, service);
    const health = await inbox.health();
    if (!health.ok || at.closed) return failing(health, service);
    const [oldest, counts] = await Promise.all([inbox.oldestWaiting(name), inbox.counts(name)]);
    const oldestWaitingMs = oldest === null ? null : Math.max(0, clock.now() - oldest.getTime());
    return { ready: !at.closing, inbox: health, service, oldestWaitingMs, counts };
  } catch (error) {
    return failing({ ok: false, error: describe(error) }, service);
  }
}

function failing(inbox: InboxHealth, service: Health["service"]): Health {
  return { ready: false, inbox, service, oldestWaitingMs: null, counts: noCounts() };
}
