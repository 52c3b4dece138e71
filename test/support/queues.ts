import { type BullmqInboxOptions, bullmqInbox } from "@reporthook/bullmq";
import { bullmqSettingsOf, openConnection, ReceiverQueues } from "@reporthook/bullmq/internals";
import type { InboxFixture } from "@reporthook/testing/internals";
import { onTestFinished } from "vitest";
import { fixtureOf } from "./fixture.ts";

/** The fixture of an inbox, and the queues of receiver `a` as another process has them. */
export interface OpenedQueues extends InboxFixture {
  readonly connection: Awaited<ReturnType<typeof openConnection>>;
  readonly queues: ReceiverQueues;
}

/** Opens both; they end with the test. The leases of the other process may be shorter, in milliseconds. */
export async function openQueues(
  options: BullmqInboxOptions & { readonly prefix: string },
  leaseMs: number | undefined = options.leaseMs,
): Promise<OpenedQueues> {
  const fixture = fixtureOf(bullmqInbox(options));
  const connection = await openConnection(bullmqSettingsOf({ ...options, leaseMs }));
  onTestFinished(() => connection.close());
  return { ...fixture, connection, queues: new ReceiverQueues(connection, options.prefix, "a") };
}
