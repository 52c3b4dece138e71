import type { AppProcess } from "./app-process.ts";
import { points } from "./points.ts";
import { brokenPromises } from "./promises.ts";
import type { Random } from "./random.ts";
import { inScene, type Scene } from "./scene.ts";
import type { Sender, Sent } from "./sender.ts";

const senders = 4;
const maxLifeMs = 3_000;

/** How a round went. */
export interface Round {
  readonly kills: number;
  readonly notifications: number;
  readonly reruns: number;
  readonly broken: readonly string[];
}

/** The source of random moments. */
export interface Chance {
  readonly random: Random;
  /** Whether some lives are long enough to take back what others had leased. */
  readonly long: boolean;
}

/** Kills an app at random moments while it is sent notifications, starts it again each time, and looks at what is left. */
export function round(kills: number, chance: Chance): Promise<Round> {
  return inScene(async (scene) => {
    const traffic = new Traffic(scene.sender, chance.random);
    while ((await scene.kills()) < kills) await oneLife(scene, traffic, chance);
    await traffic.stop();
    const broken = await brokenPromises(scene, scene.start());
    const starts = scene.runs().filter(({ at }) => at === "start");
    const reruns = starts.length - new Set(starts.map(({ id }) => id)).size;
    const notifications = scene.sender.sent.length;
    return { kills: await scene.kills(), notifications, reruns, broken };
  });
}

async function oneLife(scene: Scene, traffic: Traffic, { random, long }: Chance): Promise<void> {
  const point = random.below(2) === 0 ? random.one(points) : null;
  const app = scene.start(point === null ? {} : { kill: { point, nth: 1 + random.below(20) } });
  // Some end while they start.
  const how = random.below(10);
  const lifeMs = how === 0 && long ? 6_500 : random.below(how < 3 ? 1_000 : 600);
  if (how > 2 || lifeMs > 1_000) await Promise.race([app.url, app.ended]);
  traffic.to(app);
  await Promise.race([app.ended, sleep(point === null ? lifeMs : maxLifeMs)]);
  await app.kill();
}

/** Several senders, who go on whether there is an app or not. */
class Traffic {
  readonly #sender: Sender;
  readonly #random: Random;
  readonly #lanes: Promise<void>[];
  #app: AppProcess | null = null;
  #stopped = false;

  constructor(sender: Sender, random: Random) {
    this.#sender = sender;
    this.#random = random;
    this.#lanes = Array.from({ length: senders }, () => this.#send());
  }

  to(app: AppProcess): void {
    this.#app = app;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#lanes);
  }

  async #send(): Promise<void> {
    while (!this.#stopped) {
      await sleep(this.#random.below(40));
      const url = await this.#app?.url.catch(() => null);
      if (url != null && !this.#app?.isOver) await this.#sender.send(url, this.#next());
    }
  }

  /** A new one, one that is not acknowledged yet, or one that is. */
  #next(): Sent {
    const { sent } = this.#sender;
    const chance = this.#random.below(100);
    if (chance < 10 && sent.length > 0) return this.#random.one(sent);
    if (chance < 40) {
      const unanswered = sent.find(({ ids }) => ids.size === 0);
      if (unanswered !== undefined) return unanswered;
    }
    return this.#sender.make(`quick-${this.#random.below(30)}`, chance >= 90);
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
