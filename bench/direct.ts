// Works straight on an inbox, without a server, in a process of its own.
import { performance } from "node:perf_hooks";
import { createReceiver, type Inbox } from "@reporthook/core";
import { answerParent, tellParent } from "./child.ts";
import { type InboxName, openInbox } from "./inboxes.ts";
import type { Done } from "./progress.ts";
import { deliveryOf, receiverName, seed } from "./seed.ts";

/** What to do. */
export interface Direct {
  readonly inbox: InboxName;
  readonly folder: string;
  readonly count: number;
  readonly atOnce: number;
  /** Store only, or also verify and handle. */
  readonly work: boolean;
}

const mostWaiting = 2_000;
const tellEveryMs = 1_000;

async function handle(inbox: Inbox, count: number, atOnce: number): Promise<number> {
  let handled = 0;
  const receiver = createReceiver({
    client: { authorize: async () => "valid" },
    ...{ inbox, name: receiverName, autostart: false, logger: false },
    observe: { handled: () => handled++ },
  });
  receiver.on("*", () => {});
  const from = performance.now();
  await receiver.start();
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) {
      await inbox.add(deliveryOf(next++), { to: "received" });
      while (inbox.load(receiverName).waiting > mostWaiting) await turn();
    }
  };
  const tell = (): void => tellParent({ done: handled, count } satisfies Done);
  const timer = setInterval(tell, tellEveryMs);
  await Promise.all(Array.from({ length: atOnce }, one));
  while (handled < count) await turn();
  clearInterval(timer);
  await receiver.close();
  return (count / (performance.now() - from)) * 1_000;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}

answerParent(async ({ inbox: kind, folder, count, atOnce, work }: Direct): Promise<number> => {
  const inbox = await openInbox(kind, folder);
  if (work) return handle(inbox, count, atOnce);
  return (await seed(inbox, count, atOnce)).perSecond;
});
