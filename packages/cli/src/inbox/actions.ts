import { type Entry, type Inbox, type ReasonCode, ReporthookError } from "@reporthook/core";
import { Failure, UsageError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type InboxSource, noSuch, warnOfOthers, withInbox } from "./source.ts";

/** The inbox and the receiver of a command. */
export interface OfReceiver extends InboxSource {
  readonly receiver: string;
}

/** Options of `inbox release`. */
export interface ReleaseOptions extends OfReceiver {
  readonly reason?: ReasonCode;
}

/** Runs `inbox release`: releases the named deliveries, or all that are parked for a reason. */
export async function release(
  terminal: Terminal,
  ids: readonly string[],
  { receiver, reason, ...source }: ReleaseOptions,
): Promise<void> {
  if (ids.length > 0 === (reason !== undefined)) {
    throw new UsageError(
      "Name the deliveries to release, or use --reason to release all of a kind",
    );
  }
  await withInbox(terminal, source, "Releasing", async (inbox) => {
    const now = Date.now();
    if (reason !== undefined) {
      const released = await inbox.release({ receiver, reason, now });
      terminal.emit({ released });
      terminal.print(`Released ${released}.`);
      return released > 0 ? undefined : warnOfOthers(terminal, inbox, source, receiver);
    }
    await each(terminal, ids, "released", async (id) => {
      const { nextAttemptAt } = await mustFind(inbox, id, receiver, source);
      const waits = nextAttemptAt !== null && nextAttemptAt.getTime() > now;
      await inbox.release({ receiver, id, now }).catch((error: unknown) => {
        if (!(error instanceof ReporthookError) || !waits) throw error;
        const message = `${error.message}; inbox retry retries a waiting delivery`;
        throw new Failure(error.code, message);
      });
    });
  });
}

/** Runs `inbox retry`: retries the named deliveries immediately. */
export async function retry(
  terminal: Terminal,
  ids: readonly string[],
  { receiver, ...source }: OfReceiver,
): Promise<void> {
  await withInbox(terminal, source, "Retrying", (inbox) =>
    each(terminal, ids, "retried", async (id) => {
      await mustFind(inbox, id, receiver, source);
      await inbox.release({ receiver, retry: id, now: Date.now() });
    }),
  );
}

async function mustFind(
  inbox: Inbox,
  id: string,
  receiver: string,
  source: InboxSource,
): Promise<Entry> {
  if ((await inbox.get(id)) === null) throw noSuch(id, source);
  const found = await inbox.get(id, receiver);
  if (found !== null) return found;
  throw new Failure(
    "not_found",
    `${id} does not belong to receiver ${receiver}: name its receiver with --receiver`,
  );
}

/** Runs `inbox discard`: deletes the named deliveries. */
export async function discard(
  terminal: Terminal,
  ids: readonly string[],
  source: InboxSource,
): Promise<void> {
  await withInbox(terminal, source, "Discarding", (inbox) =>
    each(terminal, ids, "discarded", async (id) => {
      if ((await inbox.get(id)) === null) throw noSuch(id, source);
      await inbox.discard(id);
    }),
  );
}

/** Applies an action to each delivery, prints each result, and fails at the end if one failed. */
async function each(
  terminal: Terminal,
  ids: readonly string[],
  done: string,
  act: (id: string) => Promise<void>,
): Promise<void> {
  const failed: { id: string; message: string }[] = [];
  const succeeded: string[] = [];
  for (const id of ids) {
    try {
      await act(id);
      succeeded.push(id);
      terminal.print(`${id} ${done}`);
    } catch (error) {
      failed.push({ id, message: (error as Error).message });
    }
  }
  if (failed.length === 0) return terminal.emit({ [done]: succeeded });
  const message = failed.map((one) => one.message).join("; ");
  throw new Failure(`not_${done}`, message, { [done]: succeeded, failed });
}
