import type { Chance } from "../surroundings/chance.ts";
import type { Disk } from "../surroundings/disk.ts";
import type { Owner, Time } from "../surroundings/time.ts";
import { type Product, threadFile } from "./product.ts";
import { Realm } from "./realm.ts";

/** The parts of its world that a thread needs. */
export interface ThreadWorld {
  readonly time: Time;
  readonly chance: Chance;
  readonly disk: Disk;
  readonly product: Product;
}

type Listener = (value: never) => void;

/** Stands in for a worker thread of Node: its messages are copied, take their time and keep their order. */
export class Thread {
  readonly #world: ThreadWorld;
  readonly #process: Realm;
  readonly #realm: Realm;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #inbox: unknown[] = [];
  #serve: ((message: unknown) => void) | null = null;
  #isClosed = false;
  #ended = false;
  #isLost = false;
  #busyUntil = 0;
  #lastToThread = 0;
  #lastToProcess = 0;

  constructor(world: ThreadWorld, process: Realm, workerData: unknown) {
    this.#world = world;
    this.#process = process;
    this.#realm = new Realm(world.time, world.chance, process);
    const data = structuredClone(workerData);
    world.time.in(world.chance.between(2, 30), () => this.#begin(data), this.#realm);
  }

  get alive(): boolean {
    return this.#realm.alive && !this.#ended;
  }

  /** Whether it is this realm. */
  runsIn(realm: Owner): boolean {
    return realm === this.#realm;
  }

  /** Whether it is at work on what it was sent. */
  get isBusy(): boolean {
    return !this.#ended && this.#world.time.elapsed < this.#busyUntil;
  }

  on(event: string, listener: Listener): this {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
    return this;
  }

  once(event: string, listener: Listener): this {
    const listeners = this.on(event, listener).#listeners.get(event);
    return this.on(event, () => listeners?.delete(listener));
  }

  ref(): void {}

  unref(): void {}

  postMessage(message: unknown): void {
    const copy = structuredClone(message);
    const { time } = this.#world;
    this.#lastToThread = this.#later(this.#lastToThread);
    const arrive = (): void => {
      this.#inbox.push(copy);
      this.#work();
    };
    time.in(this.#lastToThread - time.elapsed, arrive, this.#realm);
  }

  /** It ends unasked, with an error or without. */
  die(error: Error | null): void {
    if (!this.alive) return;
    this.#realm.end();
    this.#world.disk.closeGone();
    // Its last messages may be lost.
    this.#isLost = this.isBusy || this.#world.chance.yes(50);
    if (this.#isLost) this.#busyUntil = this.#lastToProcess = 0;
    if (error !== null) this.#tell("error", error);
    this.#exit();
  }

  #begin(workerData: unknown): void {
    const { disk, product } = this.#world;
    const parentPort = {
      postMessage: (message: unknown) => this.#reply(message),
      on: (_: "message", serve: (message: unknown) => void) => {
        this.#serve = serve;
      },
      close: () => {
        this.#isClosed = true;
      },
    };
    const receiveMessageOnPort = (): { message: unknown } | undefined =>
      this.#inbox.length === 0 ? undefined : { message: this.#inbox.shift() };
    const modules = {
      ...disk.modulesOf(this.#realm),
      "node:worker_threads": { parentPort, workerData, receiveMessageOnPort },
    };
    this.#guarded(() => this.#realm.run(product.thread, threadFile, modules));
    if (this.#serve === null) this.#exit();
    else this.#work();
  }

  #work(): void {
    const { time } = this.#world;
    if (this.#serve === null || !this.alive) return;
    if (time.elapsed < this.#busyUntil) {
      time.in(this.#busyUntil - time.elapsed, () => this.#work(), this.#realm);
      return;
    }
    const message = this.#inbox.shift();
    if (message === undefined) return;
    this.#guarded(() => this.#serve?.(message));
    this.#isBusy();
    if (this.#isClosed) this.#exit();
    else if (this.#inbox.length > 0) this.#work();
  }

  #reply(message: unknown): void {
    this.#isBusy();
    this.#tell("message", structuredClone(message));
  }

  #isBusy(): void {
    const { time, disk } = this.#world;
    this.#busyUntil = Math.max(this.#busyUntil, time.elapsed) + disk.took();
  }

  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      if (this.#realm.alive) this.die(error as Error);
    }
  }

  #exit(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#realm.end();
    this.#world.disk.closeGone();
    this.#tell("exit", 0);
  }

  /** Sends an event to the process. A thread that is ended in the middle of a turn sends no further message. */
  #tell(event: string, value: unknown): void {
    if (event === "message" && !this.#realm.alive) return;
    const { time } = this.#world;
    this.#lastToProcess = Math.max(this.#later(this.#lastToProcess), this.#busyUntil);
    const tell = (): void => {
      if (event === "message" && this.#isLost) return;
      for (const listener of this.#listeners.get(event) ?? []) listener(value as never);
    };
    time.in(this.#lastToProcess - time.elapsed, tell, this.#process);
  }

  /** When a message arrives that comes after the last one. */
  #later(last: number): number {
    const { time, chance } = this.#world;
    return Math.max(last + 0.001, time.elapsed + 0.02 + chance.fraction() / 2);
  }
}
