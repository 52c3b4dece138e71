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

/** Asks an inbox how it is doing, unless it is closed: that would open it again. Rejects never, whatever the inbox does. */
export async function healthOf(
  { inbox, name, clock }: { readonly inbox: Inbox; readonly name: string; readonly clock: Clock },
  service: Health["service"],
  closing: boolean,
  closed: () => boolean,
): Promise<Health> {
  try {
    const health = closed() ? { ok: true } : await inbox.health();
    if (!health.ok || closed()) return failing(health, service);
    const [oldest, counts] = await Promise.all([inbox.oldestWaiting(name), inbox.counts(name)]);
    const oldestWaitingMs = oldest === null ? null : Math.max(0, clock.now() - oldest.getTime());
    return { ready: !closing, inbox: health, service, oldestWaitingMs, counts };
  } catch (error) {
    return failing({ ok: false, error: describe(error) }, service);
  }
}

function failing(inbox: InboxHealth, service: Health["service"]): Health {
  return { ready: false, inbox, service, oldestWaitingMs: null, counts: noCounts() };
}
