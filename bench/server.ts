// The server under load, in a process of its own.
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createReceiver, type Inbox, type Receiver } from "@reporthook/core";
import { answerParent, tellParent } from "./child.ts";
import { type HandMadeFile, handMadeFile } from "./hand-made-file.ts";
import type { HandMadeQueue } from "./hand-made-queue.ts";
import { type HostName, serverOf } from "./hosts.ts";
import { type InboxName, openInbox } from "./inboxes.ts";
import { fillAtOnce, receiverName as name, type Seeded, seed } from "./seed.ts";
import type { TelemetryName } from "./telemetry.ts";

/** What somebody would write without us. */
export type HandMade = HandMadeQueue | HandMadeFile;

/** What to serve. */
export interface Serve {
  readonly host: HostName;
  readonly inbox: InboxName | "none";
  /** In the place of a receiver; `inbox` is "none" then. */
  readonly handMade?: HandMade;
  /** Where a durable inbox keeps its data. */
  readonly folder: string;
  /** Verify and handle, too. */
  readonly work?: boolean;
  /** So many deliveries wait from the start. */
  readonly waiting?: number;
  /** Or as many as can be stored in this time. */
  readonly fillMs?: number;
  /** "no seam" has to be asked for when the process is started. */
  readonly telemetry?: TelemetryName;
}

/** Where it serves, and what waits from the start. */
export interface Serving {
  readonly port: number;
  readonly seeded: Seeded | null;
}

/** How the server fared since it was asked last; times in milliseconds. */
export interface Served {
  /** Of all its threads. */
  readonly cpu: number;
  readonly loopP99: number;
  readonly loopMax: number;
  readonly rssMb: number;
  readonly waiting: number;
}

const room = { waiting: 4_000_000, unverified: 4_000_000 };
const delay = monitorEventLoopDelay({ resolution: 1 });
const resolutionMs = 1;
const tellEveryMs = 5;
let inbox: Inbox | undefined;
let waitingNow = (): number => 0;
let cpuBefore = process.cpuUsage();

async function serve(asked: Serve): Promise<Serving> {
  if (asked.inbox !== "none") inbox = await openInbox(asked.inbox, asked.folder);
  const { waiting = 0, fillMs } = asked;
  const seeded = inbox && waiting > 0 ? await seed(inbox, waiting, fillAtOnce, fillMs) : null;
  const receiver = inbox ? await receiverOn(inbox, asked) : null;
  const server = asked.handMade
    ? createServer(await made(asked.handMade, asked))
    : serverOf(asked.host, receiver);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  delay.enable();
  return { port: (server.address() as AddressInfo).port, seeded };
}

async function made(by: HandMade, { folder, work = false }: Serve): Promise<RequestListener> {
  if ("rows" in by) return handMadeFile(by, folder);
  // Loaded where it is measured only.
  const { handMadeQueue } = await import("./hand-made-queue.ts");
  const { app, waiting } = await handMadeQueue(by, work);
  if (work) watch(waiting);
  return app;
}

async function receiverOn(inbox: Inbox, { work, telemetry }: Serve): Promise<Receiver> {
  // Loaded where it is measured only.
  const given = telemetry && (await import("./telemetry.ts")).telemetryOf(telemetry);
  const receiver = createReceiver({
    client: { authorize: async () => "valid" },
    ...{ inbox, name, limits: room, autostart: false, logger: false },
    ...given,
  });
  receiver.on("*", () => {});
  if (work) {
    await receiver.start();
    setInterval(() => tellParent({ waiting: inbox.load(name).waiting }), tellEveryMs);
  }
  return receiver;
}

function watch(waiting: () => Promise<number>): void {
  let last = 0;
  const look = async (): Promise<void> => {
    last = await waiting();
    tellParent({ waiting: last });
    setTimeout(() => void look(), tellEveryMs);
  };
  void look();
  waitingNow = () => last;
}

function served(): Served {
  const { user, system } = process.cpuUsage(cpuBefore);
  cpuBefore = process.cpuUsage();
  const answer = {
    cpu: (user + system) / 1_000,
    loopP99: delay.percentile(99) / 1e6 - resolutionMs,
    loopMax: delay.max / 1e6 - resolutionMs,
    rssMb: process.memoryUsage.rss() / 2 ** 20,
    waiting: inbox?.load(name).waiting ?? waitingNow(),
  };
  delay.reset();
  return answer;
}

answerParent((question: Serve | "served") => (question === "served" ? served() : serve(question)));
