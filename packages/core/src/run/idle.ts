import { ReporthookError } from "../errors.ts";
import { askInbox, type ReceiverView } from "../inbox/receiver-inbox.ts";
import { hangMs } from "../inbox/receivers.ts";
import { printable } from "../lib/text/printable.ts";
import { realClock } from "../lib/time/real-timers.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import type { OverdueSweep } from "../reports/overdue-sweep.ts";

const pollMs = 5;

/**
 * For tests: resolves when a receiver has nothing to work on; rejects `not_idle` after `timeoutMs` milliseconds. Once something waits,
 * `start` is called: no request may ever come to the receiver of a test that asks for a report.
 */
export async function untilIdle(
  receiver: ReceiverView,
  sweep: OverdueSweep,
  start: () => void,
  timeoutMs: number,
): Promise<void> {
  const until = realClock.now() + timeoutMs;
  let waiting: string | null = null;
  const watch = async (): Promise<void> => {
    await sweep.tellDue();
    for (;;) {
      waiting = await whatWaits(receiver);
      if (waiting === null || !(realClock.now() < until)) return;
      if (receiver.phase === "new") start();
      await new Promise<void>((resolve) => realClock.later(resolve, pollMs));
    }
  };
  if (!(await settlesWithin(realClock, timeoutMs + hangMs, watch()))) {
    waiting = "the inbox gives no answer";
  }
  if (waiting === null) return;
  const message = `Receiver ${receiver.name} is not idle after ${timeoutMs} ms: ${waiting}`;
  throw new ReporthookError("not_idle", message);
}

async function whatWaits(receiver: ReceiverView): Promise<string | null> {
  const { inbox, name, phase } = receiver;
  const { received, verified } = await askInbox(receiver, () => inbox.counts(name));
  if (received + verified === 0) return null;
  const state = received > 0 ? "received" : "verified";
  const [first] = await askInbox(receiver, () => inbox.list({ state, limit: 1, receiver: name }));
  const [error] = first?.lastError?.split("\n", 1) ?? [];
  const last = error ? `, last error: ${printable(error)}` : "";
  const example = first ? `; for example ${first.id} (${first.type ?? "not verified"}${last})` : "";
  const hint = phase === "new" ? "; the receiver is not started" : "";
  return `${received} received, ${verified} verified${example}${hint}`;
}
