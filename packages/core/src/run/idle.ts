import { ReporthookError } from "../errors.ts";
import type { ReceiverInbox } from "../inbox/receiver-inbox.ts";
import { silentMs } from "../inbox/receivers.ts";
import { realTimers } from "../lib/time/real-timers.ts";

/** The receiver to wait for. */
interface Waiting {
  readonly inbox: Pick<ReceiverInbox, "counts" | "list">;
  readonly name: string;
  /** Whether its work has begun. */
  readonly started: boolean;
}

const pollMs = 5;
const timeoutMaxMs = 2_147_483_647;
// The real timers, even if a test replaces them later: idle() must not wait for a virtual clock.
const { setTimeout: realTimeout, clearTimeout: clearRealTimeout } = globalThis;
const realNow = performance.now.bind(performance);

/** For tests: resolves when a receiver has nothing to work on; rejects `not_idle` after `timeoutMs` milliseconds. */
export async function untilIdle(receiver: Waiting, timeoutMs: number): Promise<void> {
  const until = realNow() + timeoutMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silent = new Promise<string>((resolve) => {
    const say = (): void => resolve("the inbox gives no answer");
    timer = realTimeout(say, Math.min(timeoutMs + silentMs, timeoutMaxMs));
  });
  try {
    for (;;) {
      const waiting = await Promise.race([whatWaits(receiver), silent]);
      if (waiting === null) return;
      if (!(realNow() < until)) {
        const message = `Receiver ${receiver.name} is not idle after ${timeoutMs} ms: ${waiting}`;
        throw new ReporthookError("not_idle", message);
      }
      await new Promise<void>((resolve) => realTimers.later(resolve, pollMs));
    }
  } finally {
    clearRealTimeout(timer);
  }
}

async function whatWaits({ inbox, started }: Waiting): Promise<string | null> {
  const { received, verified } = await inbox.counts();
  if (received + verified === 0) return null;
  const state = received > 0 ? "received" : "verified";
  const [first] = await inbox.list({ state, limit: 1 });
  const [error] = first?.lastError?.split("\n", 1) ?? [];
  const last = error ? `, last error: ${error}` : "";
  const example = first ? `; for example ${first.id} (${first.type ?? "not verified"}${last})` : "";
  const hint = started ? "" : "; the receiver is not started";
  return `${received} received, ${verified} verified${example}${hint}`;
}
