// Works straight on an inbox, without a server, in a process of its own.
import { performance } from "node:perf_hooks";
import { createReceiver, type Inbox } from "@reporthook/core";
import { answerParent } from "./child.ts";
import { type InboxName, openInbox } from "./inboxes.ts";
import { deliveryOf, seed } from "./seed.ts";

/** What to do. */
export interface Direct {
  readonly inbox: InboxName;
  readonly folder: string;
  readonly count: number;
  readonly atOnce: number;
  /** Store only, or also verify and handle; `drain` handles what is there, until nothing waits. */
  readonly work: boolean | "drain";
}

/** How fast it went, in deliveries a second. */
export interface Done {
  readonly perSecond: number;
}

const name = "bench";
const mostWaiting = 2_000;
const lookMs = 200;

async function handle(inbox: Inbox, count: number, atOnce: number): Promise<void> {
  let handled = 0;
  const receiver = createReceiver({
    client: { authorize: async () => "valid" },
    ...{ inbox, name, autostart: false, logger: false },
    observe: { handled: () => handled++ },
  });
  receiver.on("*", () => {});
  await receiver.start();
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) {
      await inbox.add(deliveryOf(name, next++), { to: "received" });
      while (inbox.load(name).waiting > mostWaiting) await turn();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  while (handled < count) await turn();
  await receiver.close();
}

/** Together with other processes; resolves to how many a second this one handled. */
async function drain(inbox: Inbox): Promise<number> {
  let handled = 0;
  const from = performance.now();
  let last = from;
  const receiver = createReceiver({
    client: { authorize: async () => "valid" },
    ...{ inbox, name, autostart: false, logger: false },
    observe: {
      handled() {
        handled++;
        last = performance.now();
      },
    },
  });
  receiver.on("*", () => {});
  await receiver.start();
  // Seldom: on some engines to count is work, too.
  for (let left = 1; left > 0; ) {
    await new Promise((resolve) => setTimeout(resolve, lookMs));
    const { received, verified } = await inbox.counts(name);
    left = received + verified;
  }
  await receiver.close();
  return (handled / (last - from)) * 1_000;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}

answerParent(async ({ inbox: kind, folder, count, atOnce, work }: Direct): Promise<Done> => {
  const inbox = await openInbox(kind, folder);
  const from = performance.now();
  if (work === "drain") return { perSecond: await drain(inbox) };
  await (work ? handle(inbox, count, atOnce) : seed(inbox, name, count, atOnce));
  return { perSecond: (count / (performance.now() - from)) * 1_000 };
});
