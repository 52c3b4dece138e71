// Works straight on an inbox, without a server, in a separate process.
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { createReceiver, type Inbox, type Receiver } from "@reporthook/core";
import { answerParent } from "../child.ts";
import { receiverName, seed } from "../deliveries.ts";
import { type InboxName, openInbox, waitingIn } from "../inboxes.ts";

/** A task on the inbox in a folder. */
export type Task = {
  readonly inbox: InboxName;
  readonly folder: string;
} & (
  | {
      readonly task: "store" | "store and handle";
      readonly count: number;
      readonly atOnce: number;
    }
  /** Until the process ends; answered once it does. */
  | { readonly task: "work" }
);

/** To count what passes either stage, after a while in which it does not count. */
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

/** How many deliveries a second, and what one of them cost in CPU time of the process. */
export interface Done {
  readonly perSecond: number;
  readonly cpuUs: number;
}

const maxWaiting = 2_000;
const passed = { verified: 0, handled: 0 };
let inbox: Inbox;

async function work(): Promise<Receiver> {
  const receiver = createReceiver({
    client: { authorize: async () => "valid" },
    inbox,
    name: receiverName,
    autostart: false,
    logger: false,
    observe: { verified: () => passed.verified++, handled: () => passed.handled++ },
  });
  receiver.on("*", () => {});
  await receiver.start();
  return receiver;
}

async function store(count: number, atOnce: number): Promise<void> {
  await seed(inbox, count, atOnce);
}

async function storeAndHandle(count: number, atOnce: number): Promise<void> {
  const receiver = await work();
  await seed(inbox, count, atOnce, () => waitingIn(inbox, receiverName) > maxWaiting);
  while (passed.handled < count) await pause(1);
  await receiver.close();
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

answerParent(async (asked: Task | Count): Promise<Counted | Done | true> => {
  if (!("task" in asked)) return count(asked);
  inbox = await openInbox(asked.inbox, asked.folder);
  if (asked.task === "work") return work().then(() => true);
  const [from, cpu] = [performance.now(), process.cpuUsage()];
  await (asked.task === "store" ? store : storeAndHandle)(asked.count, asked.atOnce);
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - from) / 1_000;
  return { perSecond: asked.count / seconds, cpuUs: (user + system) / asked.count };
});
