// Works on what waits in an inbox, in a process of its own, until that is ended.
import { performance } from "node:perf_hooks";
import { createReceiver, type Inbox } from "@reporthook/core";
import { answerParent } from "./child.ts";
import { type InboxName, openInbox } from "./inboxes.ts";
import { receiverName } from "./seed.ts";

/** Where to work; answered once it does. */
export interface Work {
  readonly inbox: InboxName;
  readonly folder: string;
}

/** So long to count what it does, after a while in which it does not count. */
export interface Count {
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** How many a second passed either stage, and how many waited for the first one at the end. */
export interface Counted {
  readonly verified: number;
  readonly handled: number;
  readonly left: number;
}

const passed = { verified: 0, handled: 0 };
let inbox: Inbox;

async function work({ inbox: kind, folder }: Work): Promise<true> {
  inbox = await openInbox(kind, folder);
  const receiver = createReceiver({
    client: { authorize: async () => "valid" },
    ...{ inbox, name: receiverName, autostart: false, logger: false },
    observe: { verified: () => passed.verified++, handled: () => passed.handled++ },
  });
  receiver.on("*", () => {});
  await receiver.start();
  return true;
}

async function count({ warmUpMs, measureMs }: Count): Promise<Counted> {
  await pause(warmUpMs);
  const [before, from] = [{ ...passed }, performance.now()];
  await pause(measureMs);
  const seconds = (performance.now() - from) / 1_000;
  const [verified, handled] = [passed.verified - before.verified, passed.handled - before.handled];
  const { received } = await inbox.counts(receiverName);
  return { verified: verified / seconds, handled: handled / seconds, left: received };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

answerParent((question: Work | Count) => ("inbox" in question ? work(question) : count(question)));
