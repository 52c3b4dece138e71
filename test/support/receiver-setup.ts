import { inspect } from "node:util";
import {
  createClient,
  createReceiver,
  type Entry,
  type EventOf,
  type Inbox,
  memoryInbox,
  type Observe,
  type Receiver,
  type ReceiverOptions,
} from "@reporthook/core";
import {
  createEmulator,
  type Emulator,
  type Notification,
  type NotificationName,
  type NotificationOptions,
} from "@reporthook/emulator";
import { expect, onTestFinished, vi } from "vitest";

export { gate, never } from "./gate.ts";

/** A log line as it was written. */
export interface Line {
  readonly level: "warn" | "error";
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** The contents of an answer of the endpoint. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly status?: string;
    readonly code?: string;
    readonly id: string;
  };
}

/** A receiver on virtual time, with the service it asks. */
export interface Setup {
  readonly emulator: Emulator;
  readonly receiver: Receiver;
  readonly lines: Line[];
  /** The service and the time of this receiver, for one in the next process. */
  readonly world: Required<Pick<ReceiverOptions, "client" | "clock">>;
  /** Every event that a `*` handler was given; there is one only after `seeAll()`. */
  readonly seen: EventOf[];
  /** The calls of the hooks of `observe`: name and entry. */
  readonly observed: [keyof Observe, Entry][];
  /** Registers that handler, which does no more unless told. */
  seeAll(handle?: () => unknown): void;
  /** Has the receiver answer one request, at this address unless told. */
  post(notification: Partial<Notification>, address?: string): Promise<Answered>;
  /** The same for a notification of the emulator. */
  send(name: NotificationName, options?: NotificationOptions): Promise<Answered>;
  /** Moves the time on, at once or in steps, each followed by all that needs no more time. */
  pass(ms: number, stepMs?: number): Promise<void>;
  /** Moves the time on, a second at a time, until `check` holds. */
  advanceUntil(check: () => unknown, stepMs?: number): Promise<void>;
}

const apiKey = "key-that-nobody-may-see";

/**
 * Makes one; at the end of the test it is closed, and has shown the API key nowhere. Until then only `advance` moves the time, a busy
 * machine does not; in a test of sockets, or of what a receiver starts by itself, time runs.
 */
export function setUp(
  options: Partial<ReceiverOptions> = {},
  time: "stands still" | "runs" = "stands still",
): Setup {
  if (time === "stands still") standStill();
  const emulator = createEmulator({ apiKey });
  const lines: Line[] = [];
  const seen: EventOf[] = [];
  const observed: [keyof Observe, Entry][] = [];
  const record = (level: Line["level"]) => (fields: Line["fields"], message: string) => {
    lines.push({ level, fields, message });
  };
  const hook = (name: keyof Observe) => (entry: Entry) => void observed.push([name, entry]);
  const receiver = createReceiver({
    client: createClient(emulator.clientOptions),
    clock: emulator.clock,
    ...(options.ack !== "handled" && { inbox: memoryInbox() }),
    logger: { warn: record("warn"), error: record("error") },
    observe: {
      acknowledged: hook("acknowledged"),
      verified: hook("verified"),
      handled: hook("handled"),
      failed: hook("failed"),
      parked: hook("parked"),
    },
    ...options,
  });
  onTestFinished(async () => {
    // Nobody moves the time on any more.
    vi.useRealTimers();
    const entries = await receiver.inbox.list({ limit: 10_000 }).catch(() => []);
    const shown = inspect([lines, seen, observed, entries, receiver], { depth: 20 });
    await receiver.close({ timeoutMs: 0 }).catch(() => {});
    await emulator.close();
    expect(shown).not.toContain(apiKey);
  });

  // The clock of the receiver, if a test has given one that it advances.
  const { advance } = { ...emulator.clock, ...options.clock };
  const pass = async (ms: number, stepMs: number = ms): Promise<void> => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      advance(stepMs);
      await turns();
    }
  };
  const post: Setup["post"] = async (notification, address = "http://localhost/hook?a=1") => {
    const response = await receiver.fetch(
      new Request(address, { method: "POST", ...notification }),
    );
    const { status, headers } = response;
    return { status, headers, body: (await response.json()) as Answered["body"] };
  };
  return {
    emulator,
    receiver,
    lines,
    seen,
    observed,
    post,
    pass,
    world: { client: createClient(emulator.clientOptions), clock: emulator.clock },
    seeAll(handle = () => {}) {
      receiver.on("*", async (event) => {
        seen.push(event);
        await handle();
      });
    },
    send: (name, how) => post(emulator.notification(name, how)),
    async advanceUntil(check, stepMs = 1_000) {
      await turns();
      while (!check()) await pass(stepMs);
    },
  };
}

/** An inbox in memory that says that it survives the process. */
export function durableInbox(): Inbox {
  const inbox = memoryInbox();
  const guarantees = { ...inbox.guarantees, durability: "fsync" } as const;
  return Object.assign(inbox, { guarantees });
}

/** A signed request: the first byte of its body is there, the rest once `arrival` resolves. */
export function slowRequest(arrival: Promise<void>, text: string = "{}"): Request {
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(bytes.subarray(0, 1));
      await arrival;
      controller.enqueue(bytes.subarray(1));
      controller.close();
    },
  });
  const headers = { "X-svc-authorization": "s" };
  const init = { method: "POST", headers, body, duplex: "half" } as const;
  return new Request("http://localhost/", init);
}

function standStill(): void {
  if (vi.isFakeTimers()) return;
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets everything that needs no time happen. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Whether a promise has settled, once everything that needs no time has happened. */
export async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  promise.then(settle, settle);
  await turns();
  return settled;
}

/** Waits until `check` holds, for what takes real but unknown time. */
export async function turnUntil(check: () => unknown): Promise<void> {
  while (!(await check())) await turns(1);
}
