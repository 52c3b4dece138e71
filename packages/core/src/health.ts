import type { Clock } from "./clock.ts";
import { describe } from "./errors.ts";
import type { Counts, Inbox, InboxHealth } from "./inbox.ts";
import { noCounts } from "./look.ts";
import { within } from "./within.ts";

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
const silentMs = 4_000;

/**
 * Asks an inbox how it is doing, unless it is closed: that would open it again. One that gives no answer within 4 seconds
 * fails. Rejects never, whatever the inbox does.
 */
export async function healthOf(
  { inbox, name, clock }: { readonly inbox: Inbox; readonly name: string; readonly clock: Clock },
  service: Health["service"],
  closing: boolean,
  closed: () => boolean,
): Promise<Health> {
  const late = `The inbox gave no answer within ${silentMs} ms`;
  const ask = async (): Promise<Health> => {
    const health = closed() ? { ok: true } : await inbox.health();
    if (!health.ok || closed()) return failing(health, service);
    const [oldest, counts] = await Promise.all([inbox.oldestWaiting(name), inbox.counts(name)]);
    const oldestWaitingMs = oldest === null ? null : Math.max(0, clock.now() - oldest.getTime());
    return { ready: !closing, inbox: health, service, oldestWaitingMs, counts };
  };
  try {
    return await within({ clock, ms: silentMs, late }, ask);
  } catch (error) {
    return failing({ ok: false, error: describe(error) }, service);
  }
}

function failing(inbox: InboxHealth, service: Health["service"]): Health {
  return { ready: false, inbox, service, oldestWaitingMs: null, counts: noCounts() };
}
