import { Ledger } from "./ledger.ts";
import { App } from "./product/app.ts";
import type { Product } from "./product/product.ts";
import { newSetup, type Setup } from "./setup.ts";
import { Chance } from "./surroundings/chance.ts";
import { wrongBy } from "./surroundings/clocks.ts";
import { Disk } from "./surroundings/disk.ts";
import { Service } from "./surroundings/service.ts";
import { Time } from "./surroundings/time.ts";

const startOfTime = Date.UTC(2026, 0, 1);

/** A receiver with all that is around it: the service and its notifications, the disk, time, and what goes wrong. */
export class World {
  readonly setup: Setup;
  readonly time: Time = new Time(startOfTime);
  readonly ledger: Ledger = new Ledger(() => this.time.now);
  readonly service: Service;
  readonly disk: Disk;
  /** The processes that run. */
  readonly apps: App[] = [];
  /** Separate from the product's, so that a change in its code changes little of what is planned. */
  readonly plan: Chance;
  /** For what has nothing to do with faults. */
  readonly calm: Chance;
  /** For what strangers send. */
  readonly strangers: Chance;
  /** For what happens to clocks. */
  readonly clocks: Chance;
  /** For reports that are asked for. */
  readonly customers: Chance;
  readonly #chance: Chance;
  readonly #product: Product;
  readonly #ending = new Set<App>();
  #started = 0;
  #faultsOver = false;

  constructor(seed: number, product: Product, asksForReports: boolean) {
    this.strangers = new Chance(seed * 4);
    this.clocks = new Chance(seed * 4 + 2 ** 30);
    this.plan = new Chance(seed * 4 + 1);
    this.#chance = new Chance(seed * 4 + 2);
    this.calm = new Chance(seed * 4 + 3);
    this.#product = product;
    this.customers = new Chance(seed * 4 + 2 ** 29);
    this.setup = newSetup(this.plan, this.clocks, asksForReports ? this.customers : null);
    this.service = new Service(this.time, this.#chance, this.ledger);
    this.disk = new Disk(this.#chance);
  }

  /** Starts the processes. */
  begin(): void {
    this.ledger.tell("world", JSON.stringify(this.setup));
    for (let left = this.setup.processes; left > 0; left--) this.#start();
  }

  /** Something is wrong for so long. */
  lasting(what: string, ms: number, end: () => void): void {
    this.ledger.begin(what);
    this.time.in(ms, () => {
      end();
      this.ledger.end(what);
    });
  }

  /** Nothing new goes wrong from now on. */
  endFaults(): void {
    this.#faultsOver = true;
    this.time.before = null;
    this.disk.trap = null;
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
    const wrongMs = setup.hasWrongClocks && this.clocks.yes(40) ? wrongBy(this.clocks) : 0;
    const app = new App({ ...around, chance: this.#chance }, this.#started++, wrongMs);
    this.apps.push(app);
    if (wrongMs !== 0) time.in(this.clocks.between(5, 20_000), () => app.setClock(0));
  }
}
