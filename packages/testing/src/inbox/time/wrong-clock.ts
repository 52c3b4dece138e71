import { createReceiver, DoNotRetry, type Inbox, type Receiver } from "@reporthook/core";
import { same } from "../../assert.ts";
import { type ManualClock, manualClock } from "../../manual-clock.ts";
import type { InboxFixture } from "../fixture.ts";

/** The option `clock` of a receiver: virtual, and set to another time by hand. */
export interface WrongClock {
  readonly clock: Pick<ManualClock, "now" | "setTimeout" | "clearTimeout">;
  /** Lets time pass. */
  advance(ms: number): void;
  /** Shows the right time and so many milliseconds more. */
  set(ms: number): void;
}

/** A receiver on the store of a case. */
export interface Running {
  readonly receiver: Receiver;
  /** How often the service was asked. */
  readonly asked: () => number;
  /** How often the handler ran. */
  readonly runs: () => number;
  /** The warnings. */
  readonly warnings: readonly string[];
  /** Sends one, unlike all others unless its signature is given; resolves to the id in the answer. */
  send(signature?: string): Promise<string>;
}

/** Makes one that is right. */
export function wrongClock(): WrongClock {
  const { now, advance, setTimeout, clearTimeout } = manualClock();
  let wrongMs = 0;
  return {
    clock: { now: () => now() + wrongMs, setTimeout, clearTimeout },
    advance,
    set(ms) {
      wrongMs = ms;
    },
  };
}

let sent = 0;

/** Starts a receiver whose handler fails `failures` times, and then parks what it is given if told so. */
export async function run(
  inbox: Inbox,
  { clock }: WrongClock,
  options: { readonly failures?: number; readonly parks?: boolean; readonly silent?: boolean } = {},
): Promise<Running> {
  const { failures = 0, parks = false, silent = false } = options;
  let [asked, runs] = [0, 0];
  const warnings: string[] = [];
  const receiver = createReceiver({
    client: {
      authorize: async () => {
        asked++;
        if (silent && asked === 1) throw new Error("no answer");
        return "valid";
      },
    },
    inbox,
    clock,
    retry: { attempts: 10, minMs: 1_000, maxMs: 1_000 },
    logger: { warn: (_fields, message) => void warnings.push(message), error: () => {} },
  });
  receiver.on("*", () => {
    if (++runs <= failures) throw new Error("not yet");
    if (parks) throw new DoNotRetry("no");
  });
  await receiver.start();
  const send = async (signature = `s-${++sent}`): Promise<string> => {
    const headers = { "content-type": "application/json", "x-svc-authorization": signature };
    const body = JSON.stringify({ status: "complete", report_id: signature });
    const init = { method: "POST", headers, body };
    const response = await receiver.fetch(new Request("https://app.example/hook", init));
    same(response.status, 200, "How it is answered");
    return ((await response.json()) as { readonly id: string }).id;
  };
  return { receiver, asked: () => asked, runs: () => runs, warnings, send };
}

/** Lets time pass, ten minutes at most, until `check` holds: a wrong clock would have it wait longer. */
export async function soon(
  { until }: InboxFixture,
  { advance }: WrongClock,
  check: () => boolean,
  what: string,
): Promise<void> {
  let left = 600;
  await until(() => {
    if (check()) return true;
    if (left-- > 0) advance(1_000);
    return check();
  }, what);
}

/** Resolves to the ids of all that is parked, after pruning. */
export async function parked({ receiver }: Running): Promise<readonly string[]> {
  return (await receiver.inbox.list({ state: "parked" })).map(({ id }) => id);
}

/** Parks one; resolves to its id. */
export async function parkOne({ until }: InboxFixture, running: Running): Promise<string> {
  const id = await running.send();
  await until(async () => (await running.receiver.inbox.get(id))?.state === "dead", "it is parked");
  return id;
}
