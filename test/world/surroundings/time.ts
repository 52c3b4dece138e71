import { Heap } from "@reporthook/core/internals";

/** Whose happenings come to nothing once it is gone. */
export interface Owner {
  readonly alive: boolean;
  /** Until when it stands still, by {@link Time.elapsed}: what happens to it happens then. */
  readonly standsUntil: number;
}

/** A planned event, which can be called off. */
export interface Happening {
  off: boolean;
}

interface Planned extends Happening {
  readonly owner: Owner | null;
  readonly run: () => void;
}

// A turn of the real event loop: by then no promise is left that could still go on.
const { setImmediate: nextTurn } = globalThis;
const drained = (): Promise<void> => new Promise((resolve) => nextTurn(resolve));

/** The time of a world: it stands still while something runs, and then jumps to what happens next. */
export class Time {
  readonly #epoch: number;
  #elapsed = 0;
  readonly #planned = new Heap<Planned>();
  /** Called before everything that happens. */
  before: (() => void) | null = null;
  /** How much has happened. */
  happened = 0;

  constructor(now: number) {
    this.#epoch = now;
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    return this.#epoch + Math.floor(this.#elapsed);
  }

  /** Milliseconds since the beginning of this world, with their fractions. */
  get elapsed(): number {
    return this.#elapsed;
  }

  /** In how many milliseconds something happens next. */
  get quietMs(): number {
    return (this.#planned.rank ?? Number.POSITIVE_INFINITY) - this.#elapsed;
  }

  /** Plans something for `ms` milliseconds from now. */
  in(ms: number, run: () => void, owner: Owner | null = null): Happening {
    const planned = { off: false, owner, run };
    this.#planned.push(this.#elapsed + Math.max(0, ms), planned);
    return planned;
  }

  /** Everything stands still: what comes due meanwhile happens late. */
  stall(ms: number): void {
    this.#elapsed += ms;
  }

  /** Lets things happen until `isOver` or for so many milliseconds; returns whether it is over. */
  async go(isOver: () => boolean, ms: number): Promise<boolean> {
    const until = this.#elapsed + ms;
    await drained();
    while (!isOver()) {
      const at = this.#planned.rank ?? Number.POSITIVE_INFINITY;
      if (at > until) {
        this.#elapsed = Math.max(this.#elapsed, until);
        return false;
      }
      const planned = this.#planned.pop();
      if (planned === undefined || planned.off || planned.owner?.alive === false) continue;
      const standsUntil = planned.owner?.standsUntil ?? 0;
      if (standsUntil > at) {
        this.#planned.push(standsUntil, planned);
        continue;
      }
      this.#elapsed = Math.max(this.#elapsed, at);
      this.happened++;
      this.before?.();
      planned.run();
      await drained();
    }
    return true;
  }
}
