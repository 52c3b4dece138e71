import { App, type Contents } from "./app.ts";
import { Chance } from "./chance.ts";
import { Disk } from "./disk.ts";
import { planFaults } from "./faults.ts";
import { Ledger } from "./ledger.ts";
import type { Product } from "./product.ts";
import { brokenPromises } from "./promises.ts";
import { Service } from "./service.ts";
import { newSetup, type Setup } from "./setup.ts";
import { Time } from "./time.ts";
import { planTraffic, sendInCalm } from "./traffic.ts";

/** What came of a seed. */
export interface Result {
  readonly seed: number;
  readonly broken: readonly string[];
  /** What happened, line by line, with virtual times in seconds. */
  readonly trace: readonly string[];
  readonly happened: number;
}

const hourMs = 3_600_000;
/** So long at most until nothing waits, once nothing is wrong any more. */
const settledMs = 2 * hourMs;
/** So long it may take until a refused key is tried again. */
const calmedMs = 35_000;
const startOfTime = Date.UTC(2026, 0, 1);

/** Makes the world of a seed, and lets it run to its end. */
export async function runWorld(seed: number, product: Product): Promise<Result> {
  const world = new World(seed, product);
  const { ledger, time } = world;
  try {
    await world.live();
  } catch (error) {
    ledger.breaks(`The world ended: ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    world.disk.end();
  }
  return { seed, broken: ledger.broken, trace: ledger.trace, happened: time.happened };
}

/** A receiver with all that is around it: the service and its notifications, the disk, time, and what goes wrong. */
export class World {
  readonly setup: Setup;
  readonly time: Time = new Time(startOfTime);
  readonly ledger: Ledger = new Ledger(() => this.time.now);
  readonly service: Service;
  readonly disk: Disk;
  /** The processes that run. */
  readonly apps: App[] = [];
  /** For what has nothing to do with faults. */
  readonly calm: Chance;
  readonly #plan: Chance;
  readonly #chance: Chance;
  readonly #product: Product;
  readonly #ending = new Set<App>();
  #started = 0;
  #faultsOver = false;

  constructor(seed: number, product: Product) {
    // Of their own, so that a change in the product's code changes little of what is planned.
    this.#plan = new Chance(seed * 4 + 1);
    this.#chance = new Chance(seed * 4 + 2);
    this.calm = new Chance(seed * 4 + 3);
    this.#product = product;
    this.setup = newSetup(this.#plan);
    this.service = new Service(this.time, this.#chance, this.ledger);
    this.disk = new Disk(this.#chance);
  }

  async live(): Promise<void> {
    const { time, setup, ledger } = this;
    ledger.tell("world", JSON.stringify(setup));
    for (let left = setup.processes; left > 0; left--) this.#start();
    planTraffic(this, this.#plan);
    planFaults(this, this.#plan);
    await time.go(() => false, setup.lengthMs);
    await this.#untilCalm();
    await this.#settle();
    if (ledger.broken.length > 0) return;
    await this.#end();
  }

  /** Something is wrong for so long. */
  lasting(what: string, ms: number, end: () => void): void {
    this.ledger.begin(what);
    this.time.in(ms, () => {
      end();
      this.ledger.end(what);
    });
  }

  /** One that a notification may arrive at, or null. */
  anApp(chance: Chance): App | null {
    return this.apps.length === 0 ? null : chance.one(this.apps);
  }

  /** A process is gone, or all are with the power; after a while there are others. */
  crash(app: App | null, power: boolean, downMs: number): void {
    if (app?.alive !== true || this.#faultsOver) return;
    const gone = power ? [...this.apps] : [app];
    if (power) this.disk.cut();
    for (const one of gone) {
      one.crash();
      this.ledger.end(`restart of ${one.number}`);
      this.#startAgain(one, downMs);
    }
  }

  /** The thread of a process' inbox ends. */
  loseThread(app: App | null, error: Error | null): void {
    app?.loseThread(error);
    this.lasting("thread lost", 3_000, () => {});
  }

  /** A process is stopped for so long, and goes on. */
  stop(app: App | null, ms: number): void {
    app?.stop(ms);
    this.lasting(`process ${app?.number} stands still`, ms, () => {});
  }

  /** A process is told to end; then there is another. */
  restart(app: App | null, downMs: number): void {
    const what = `restart of ${app?.number}`;
    if (app?.alive !== true || this.#faultsOver || this.#ending.has(app)) return;
    this.#ending.add(app);
    this.ledger.begin(what);
    const over = (): void => {
      this.ledger.end(what);
      if (!app.alive) return;
      app.end();
      this.#startAgain(app, downMs);
    };
    app.close().then(over, (error: unknown) => {
      this.ledger.tell("world", `process ${app.number} ended in no peace: ${String(error)}`);
      over();
    });
  }

  #startAgain(app: App, downMs: number): void {
    this.apps.splice(this.apps.indexOf(app), 1);
    const what = `absence after ${app.number}`;
    this.lasting(what, downMs, () => this.#start());
  }

  #start(): void {
    const { time, ledger, service, disk, setup } = this;
    const around = { time, ledger, service, disk, setup, product: this.#product };
    this.apps.push(new App({ ...around, chance: this.#chance }, this.#started++));
  }

  /** Nothing new goes wrong, and what is wrong ends. */
  async #untilCalm(): Promise<void> {
    this.#faultsOver = true;
    this.time.before = null;
    this.disk.trap = null;
    const isCalm = (): boolean => this.ledger.isCalm && !this.apps.some(({ isBusy }) => isBusy);
    if (!(await this.time.go(isCalm, settledMs))) {
      throw new Error("What is wrong does not end");
    }
    await this.#wait(calmedMs);
  }

  /** Nothing is wrong: whatever comes is handled, and whatever waits comes to its end. */
  async #settle(): Promise<void> {
    const until = this.time.now + settledMs;
    for (const ms of [0, 2_000, 15_000]) {
      await this.#wait(ms);
      sendInCalm(this, this.calm);
    }
    if (this.setup.options.ack === "handled") return this.#wait(30_000);
    for (let ms = 1_000; ; ms = Math.min(ms * 1.5, 60_000)) {
      await this.#wait(ms);
      const waiting = await this.#get((app) => app.waiting());
      if (waiting === 0) return;
      if (this.time.now < until) continue;
      const { entries } = await this.#get((app) => app.contents());
      for (const { id, state, lastError } of entries) {
        const waits = state === "received" || state === "verified";
        if (waits) this.ledger.breaks(`${id} is still ${state}, last error: ${lastError}`);
      }
      return;
    }
  }

  async #end(): Promise<void> {
    const contents = await this.#get<Contents>((app) => app.contents());
    for (const broken of brokenPromises(this, contents)) this.ledger.breaks(broken);
    for (const app of this.apps) {
      await this.#get(() => app.close());
      if (app.timers > 0) this.ledger.breaks(`${app.timers} timers are left after close()`);
    }
  }

  async #wait(ms: number): Promise<void> {
    await this.time.go(() => false, ms);
  }

  async #get<T>(ask: (app: App) => Promise<T>): Promise<T> {
    const { time, apps } = this;
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
}
