// The server under load, in a separate process.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { createReceiver, type Inbox, type Receiver } from "@reporthook/core";
import { answerParent, tellParent } from "../child.ts";
import { fillAtOnce, receiverName, seed } from "../deliveries.ts";
import { type InboxName, openInbox, waitingIn } from "../inboxes.ts";
import {
  type Handle,
  type HandlerWork,
  handledSoFar,
  handlerOf,
  type Notification,
} from "../servers/handler.ts";
import { type HostName, serverOf } from "../servers/hosts.ts";
import type { PeerName } from "../servers/peers.ts";
import type { QueueByHand } from "../servers/queue-by-hand.ts";
import type { Instrumented, TelemetryName } from "../servers/telemetry.ts";

/** The server to start. */
export interface Serve {
  readonly host: HostName;
  readonly inbox: InboxName | "none";
  /** Where a durable inbox keeps its data. */
  readonly folder: string;
  /** Verify and handle, too. */
  readonly work?: boolean;
  /** The work of a handler; none when left out. */
  readonly handler?: HandlerWork;
  /** So many receivers share the inbox. */
  readonly receivers?: number;
  /** So many deliveries wait from the start. */
  readonly waiting?: number;
  /** So many were handled before. */
  readonly handled?: number;
  readonly telemetry?: TelemetryName;
  /** In the place of a receiver: what somebody would write without us, or another library. */
  readonly instead?: "file" | QueueByHand | PeerName;
}

/** How the server fared since it was asked last; times in milliseconds. */
export interface Served {
  /** Of all its threads. */
  readonly cpu: number;
  readonly loopP99: number;
  readonly loopMax: number;
  readonly rssMb: number;
  readonly waiting: number;
  readonly handled: number;
}

const room = { waiting: 4_000_000, unverified: 4_000_000 };
const delay = monitorEventLoopDelay({ resolution: 1 });
const resolutionMs = 1;
const tellEveryMs = 5;
/** Only so many may wait while those that are to be handled before are stored. */
const maxWaiting = 2_000;
let waitingNow = (): number => 0;
let cpuBefore = process.cpuUsage();
let handledBefore = 0;

/** Resolves to the port. */
async function serve(asked: Serve): Promise<number> {
  const server = asked.instead ? await instead(asked, asked.instead) : await ours(asked);
  if (!server.listening) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  }
  if (asked.work) setInterval(() => tellParent({ waiting: waitingNow() }), tellEveryMs);
  delay.enable();
  served();
  return (server.address() as AddressInfo).port;
}

async function instead(asked: Serve, by: NonNullable<Serve["instead"]>): Promise<Server> {
  // Each is loaded where it is measured only.
  const handle = handlerOf(asked.handler);
  if (typeof by === "object") {
    const { queueByHand } = await import("../servers/queue-by-hand.ts");
    const { app, waiting } = await queueByHand(by, asked.folder, asked.work ? handle : null);
    waitingNow = waiting;
    return createServer(app);
  }
  if (by === "file") {
    const { fileByHand } = await import("../servers/file-by-hand.ts");
    return createServer(fileByHand(asked.folder));
  }
  const { peers } = await import("../servers/peers.ts");
  return peers[by](handle);
}

async function ours(asked: Serve): Promise<Server> {
  const { host, inbox: kind, folder, receivers: count = 1, waiting = 0, handled = 0 } = asked;
  if (kind === "none") return serverOf(host, []);
  const inbox = await openInbox(kind, folder);
  const load = (): number => names.reduce((all, name) => all + waitingIn(inbox, name), 0);
  const names = [
    receiverName,
    ...Array.from({ length: count - 1 }, (_, at) => `${receiverName}${at + 1}`),
  ];
  if (waiting > 0) await seed(inbox, waiting, fillAtOnce);
  const instrumented = asked.telemetry
    ? (await import("../servers/telemetry.ts")).instrument(asked.telemetry)
    : null;
  const handle = handlerOf(asked.handler);
  const all = names.map((name) => receiverOn(inbox, name, handle, instrumented));
  waitingNow = load;
  if (asked.work) {
    for (const receiver of all) await receiver.start();
    if (handled > 0) await seed(inbox, handled, fillAtOnce, () => load() > maxWaiting);
    while (handled > 0 && load() > 0) await pause(tellEveryMs);
  }
  return serverOf(host, all, instrumented?.listener);
}

function receiverOn(
  inbox: Inbox,
  name: string,
  handle: Handle,
  instrumented: Instrumented | null,
): Receiver {
  const byHand = instrumented?.work;
  const authorize = async () => "valid" as const;
  const receiver = createReceiver({
    client: { authorize: byHand ? byHand("verify", authorize) : authorize },
    inbox,
    name,
    limits: room,
    autostart: false,
    logger: false,
    ...instrumented?.options,
  });
  const run = (event: { readonly body: unknown }) => handle(event.body as Notification);
  receiver.on("*", byHand ? byHand("process", run) : run);
  return receiver;
}

function served(): Served {
  const { user, system } = process.cpuUsage(cpuBefore);
  cpuBefore = process.cpuUsage();
  const handled = handledSoFar() - handledBefore;
  handledBefore += handled;
  const answer = {
    cpu: (user + system) / 1_000,
    loopP99: delay.percentile(99) / 1e6 - resolutionMs,
    loopMax: delay.max / 1e6 - resolutionMs,
    rssMb: process.memoryUsage.rss() / 2 ** 20,
    waiting: waitingNow(),
    handled,
  };
  delay.reset();
  return answer;
}

answerParent((question: Serve | "served") => (question === "served" ? served() : serve(question)));
