import { type Entry, type Inbox, type ReasonCode, ReporthookError } from "@reporthook/core";
import { Failure, UsageError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type InboxSource, noSuch, warnOfOthers, withInbox } from "./source.ts";

/** Whose deliveries, and in which inbox. */
export interface OfReceiver extends InboxSource {
  readonly receiver: string;
}

/** What `inbox release` takes. */
export interface ReleaseOptions extends OfReceiver {
  readonly reason?: ReasonCode;
}

/** `inbox release`: those named, or all that are parked for a reason, run again. */
export async function release(
  terminal: Terminal,
  ids: readonly string[],
  { receiver, reason, ...source }: ReleaseOptions,
): Promise<void> {
  if (ids.length > 0 === (reason !== undefined)) {
    throw new UsageError("Name the deliveries to release, or all of a kind with --reason");
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
        const message = `${error.message}; inbox retry has one that waits for its next try tried at once`;
        throw new Failure(error.code, message);
      });
    });
  });
}

/** `inbox retry`: those named wait for their next try no longer. */
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
    `${id} belongs to another receiver than ${receiver}: name it with --receiver`,
  );
}

/** `inbox discard`: those named are deleted. */
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

/** Does the same to each, tells of each, and fails in the end if one failed. */
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
