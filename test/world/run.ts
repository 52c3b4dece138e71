import type { RequestRecord } from "@reporthook/core";
import { planClocks, planFaults } from "./faults.ts";
import type { App, Contents } from "./product/app.ts";
import type { Product } from "./product/product.ts";
import { brokenPromises } from "./promises.ts";
import { planWishes } from "./reports/customers.ts";
import { planStrangers, planTraffic, sendInCalm } from "./surroundings/traffic.ts";
import { World } from "./world.ts";

/** The result of a seed's world. */
export interface Result {
  readonly seed: number;
  readonly broken: readonly string[];
  /** The events, line by line, with virtual times in seconds. */
  readonly trace: readonly string[];
  readonly happened: number;
  /** At its end. */
  readonly requests: readonly RequestRecord[];
}

const hourMs = 3_600_000;
/** So long at most until nothing waits, once nothing is wrong any more. */
const settledMs = 2 * hourMs;
/** So long it may take until a refused key is tried again. */
const calmedMs = 35_000;

/** Makes the world of a seed, one in which reports are asked for or one without, and lets it run to its end. */
export async function runWorld(
  seed: number,
  product: Product,
  asksForReports = false,
): Promise<Result> {
  const world = new World(seed, product, asksForReports);
  const { ledger, time } = world;
  try {
    await live(world);
  } catch (error) {
    ledger.breaks(`The world ended: ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    world.disk.end();
  }
  const { broken, trace, wishes } = ledger;
  return { seed, broken, trace, happened: time.happened, requests: wishes.ended };
}

async function live(world: World): Promise<void> {
  world.begin();
  planTraffic(world, world.plan);
  // Not with requests for reports: notifications of strangers wait for an hour.
  if (world.setup.wishes === 0) planStrangers(world, world.strangers);
  planFaults(world, world.plan);
  planClocks(world, world.clocks);
  planWishes(world, world.customers);
  await wait(world, world.setup.lengthMs);
  world.endFaults();
  await untilCalm(world);
  await untilTold(world);
  await settle(world);
  if (world.ledger.broken.length === 0) await end(world);
}

/** Waits until all faults have ended. */
async function untilCalm(world: World): Promise<void> {
  const isCalm = (): boolean => world.ledger.isCalm && !world.apps.some(({ isBusy }) => isBusy);
  if (!(await world.time.go(isCalm, settledMs))) throw new Error("What is wrong does not end");
  await wait(world, calmedMs);
}

/** Each request comes to its end, or is told as overdue. */
async function untilTold(world: World): Promise<void> {
  const { time, ledger, setup } = world;
  if (setup.wishes === 0) return;
  await wait(world, ledger.wishes.busyUntil - time.now);
  const until = time.now + settledMs;
  for (let ms = 1_000; time.now < until; ms = Math.min(ms * 1.5, 60_000)) {
    await wait(world, ms);
    const requests = await get(world, (app) => app.requests());
    if (requests.every((one) => one.settledAt !== null || one.overdueAt !== null)) return;
  }
  ledger.breaks("A request is neither settled nor told as overdue");
}

/** Without faults, every new notification is handled, and every waiting delivery comes to its end. */
async function settle(world: World): Promise<void> {
  const { time, ledger, setup, calm } = world;
  const until = time.now + settledMs;
  for (const ms of [0, 2_000, 15_000]) {
    await wait(world, ms);
    // Each hears that the service gives verdicts: one that asks about nothing but refused signatures takes its key for refused.
    for (const app of world.apps) sendInCalm(world, calm, app);
  }
  if (setup.options.ack === "handled") return wait(world, 30_000);
  for (let ms = 1_000; ; ms = Math.min(ms * 1.5, 60_000)) {
    await wait(world, ms);
    const waiting = await get(world, (app) => app.waiting());
    if (waiting === 0) return;
    if (time.now < until) continue;
    const { entries } = await get(world, (app) => app.contents());
    for (const { id, state, lastError } of entries) {
      const waits = state === "received" || state === "verified";
      if (waits) ledger.breaks(`${id} is still ${state}, last error: ${lastError}`);
    }
    return;
  }
}

async function end(world: World): Promise<void> {
  const { ledger, apps } = world;
  const contents = await get<Contents>(world, (app) => app.contents());
  ledger.wishes.ended = contents.requests;
  for (const broken of brokenPromises(world, contents)) ledger.breaks(broken);
  for (const app of apps) {
    await get(world, () => app.close());
    if (app.timers > 0) ledger.breaks(`${app.timers} timers are left after close()`);
  }
}

async function wait({ time }: World, ms: number): Promise<void> {
  await time.go(() => false, ms);
}

async function get<T>({ time, apps }: World, ask: (app: App) => Promise<T>): Promise<T> {
  const [app] = apps;
  if (app === undefined) throw new Error("No process runs");
  let result: { readonly value: T } | { readonly error: unknown } | null = null;
  ask(app).then(
    (value) => {
      result = { value };
    },
    (error: unknown) => {
      result = { error };
    },
  );
  await time.go(() => result !== null, 60_000);
  const got = result as { readonly value: T } | { readonly error: unknown } | null;
  if (got === null) throw new Error("No answer within a minute");
  if ("error" in got) throw got.error;
  return got.value;
}
