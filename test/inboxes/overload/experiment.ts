import { setTimeout as delay } from "node:timers/promises";
import type { Inbox } from "@reporthook/core";
import { setUp } from "@reporthook/test-support/receiver-setup";
import { Chance } from "../../world/surroundings/chance.ts";

const stepMs = 200;
const authorizeMs = 400;
const concurrency = 2;
const perSecond = (concurrency * 1_000) / authorizeMs;
/** Of what the service judges, so much is genuine. */
const genuineShare = 0.1;
const lifetimeMs = 300_000;
/** Most of a kind that come in one step. */
const most = 10;

/** Which part of the genuine ones can be judged, when junk is `times` what the service judges. */
export function shareOf(times: number): number {
  return Math.min(1, 1 / (times + genuineShare));
}

/**
 * Sends genuine notifications and signed junk for so many virtual seconds to a receiver whose service judges 5 a second;
 * tells how many of the genuine ones were handled. `pauseMs` is the real time that each step of the virtual one takes.
 */
export async function overload(
  inbox: Inbox,
  times: number,
  seconds: number,
  pauseMs = 0,
): Promise<{ readonly handled: number; readonly sent: number }> {
  let [inFlight, judged, accepted, genuine] = [0, 0, 0, 0];
  const client = {
    async authorize(signature: string): Promise<"valid" | "invalid" | "expired"> {
      inFlight++;
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, authorizeMs));
      inFlight--;
      judged++;
      const [kind, at] = signature.split(" ");
      if (kind === "junk") return "invalid";
      return clock.now() - Number(at) > lifetimeMs ? "expired" : "valid";
    },
  };
  const limits = { verify: concurrency, handle: 8 };
  const options = { inbox, client, concurrency: limits };
  const { emulator, receiver, post, seen, seeAll } = setUp(options, "runs");
  const { clock } = emulator;
  const chance = new Chance(1);
  seeAll();
  let number = 0;
  const send = async (kind: "junk" | "genuine"): Promise<void> => {
    const signature = `${kind} ${clock.now()} ${++number}`;
    const headers = { "content-type": "application/json", "X-svc-authorization": signature };
    const { status } = await post({ body: '{"status":"complete"}', headers });
    if (status === 200) accepted++;
  };
  /** Until as much is under way as can be. */
  const settle = async (): Promise<void> => {
    while (inFlight < Math.min(concurrency, accepted - judged)) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const [junkPerStep, genuinePerStep] = [times, genuineShare].map(
    (part) => (part * perSecond * stepMs) / 1_000,
  ) as [number, number];
  for (let step = 0; step < (seconds * 1_000) / stepMs; step++) {
    // By chance: what keeps time with the calls would always come just before one of them, or after.
    const sending: ("junk" | "genuine")[] = [];
    for (let one = 0; one < most; one++) {
      if (chance.fraction() < junkPerStep / most) sending.push("junk");
      const at = chance.below(sending.length + 1);
      if (chance.fraction() < genuinePerStep / most) sending.splice(at, 0, "genuine");
    }
    genuine += sending.filter((kind) => kind === "genuine").length;
    await Promise.all(sending.map(send));
    await settle();
    clock.advance(stepMs);
    // A store that leases short work ahead is to see that this work is not short.
    if (pauseMs > 0) await delay(pauseMs);
    await settle();
  }
  await delay(200);
  await receiver.close({ timeoutMs: 0 });
  return { handled: seen.length, sent: genuine };
}
