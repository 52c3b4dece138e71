import { rmSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import type { Context } from "./benchmark.ts";
import { type Child, startChild } from "./child.ts";
import type { HostName } from "./hosts.ts";
import { type InboxName, newFolder } from "./inboxes.ts";
import type { Load, Loaded, Order } from "./load.ts";
import { type Done, howFar } from "./progress.ts";
import type { Seeded } from "./seed.ts";
import type { HandMade, Serve, Served, Serving } from "./server.ts";
import type { TelemetryName } from "./telemetry.ts";

/** One way to serve, measured against the same framework bare. */
export interface Variant {
  readonly host: HostName;
  readonly inbox: InboxName | "none";
  readonly work?: boolean;
  readonly waiting?: number;
  readonly handMade?: HandMade;
  readonly telemetry?: TelemetryName;
}

/** One measurement. */
export type Sample = Loaded & Served;

/** A server under test, in a process of its own. */
export interface Target {
  /** What waits from the start; null where nothing does. */
  readonly seeded: Seeded | null;
  load(options?: { readonly rate?: number }): Promise<Sample>;
  /** The same in slices, which {@link Slices.next} hands out one at a time. */
  loadInSlices(): Slices;
  /** Memory and backlog right now. */
  look(): Promise<Served>;
  end(): Promise<void>;
}

/** A server under load for as long as it has its turn. */
export interface Slices {
  /** Resolves when all is measured. */
  readonly sample: Promise<Sample>;
  /** Gives it a turn; resolves when that is over and every request of it answered. */
  next(): Promise<void>;
}

/** How long a turn is: short, so that what slows the machine down slows all of a round. */
const sliceMs = 250;
/** The backlog at which the generator waits, so that a server that works too is measured with a backlog that stays. */
const mostWaiting = 2_000;
const connections = 64;

const telemetries: Record<TelemetryName, string> = {
  "no seam": "no seam",
  none: "without telemetry",
  "none again": "without telemetry, again",
  "no SDK": "`telemetry()`, no SDK",
  SDK: "`telemetry()` and an SDK",
};

/** What a variant is called in tables. */
export function labelOf({ host, inbox, handMade, telemetry, work }: Variant): string {
  if (telemetry) return `${telemetries[telemetry]}${work ? ", working" : ""}`;
  if (handMade && "rows" in handMade) return `hand-made, ${handMade.rows}`;
  if (handMade) return `hand-made, ${handMade.engine}${handMade.dedupes ? ", tells copies" : ""}`;
  return inbox === "none" ? `${host}, bare` : `${host} + ${inbox}`;
}

/** Starts a server. */
export async function startTarget(
  variant: Omit<Serve, "folder">,
  { warmUpMs, measureMs, detail }: Context,
): Promise<Target> {
  const folder = newFolder();
  const ahead = new URL("./without-seam.js", import.meta.url).href;
  const env = variant.telemetry === "no seam" ? { NODE_OPTIONS: `--import=${ahead}` } : {};
  const server = startChild("server", env);
  const end = async (): Promise<void> => {
    await server.end();
    rmSync(folder, { recursive: true, force: true });
  };
  server.onNews((news) => {
    // One that works tells what waits from the start.
    if ("done" in (news as object)) detail(howFar(news as Done));
  });
  const asked = server.ask<Serving>({ ...variant, folder } satisfies Serve);
  const { port, seeded } = await asked.catch(async (error) => {
    await end();
    throw error;
  });
  const measured = async (generator: Child, options: Partial<Load>): Promise<Sample> => {
    const load: Load = { port, connections, warmUpMs, measureMs, ...options };
    try {
      const counted = server.ask<Served>("served");
      const [loaded] = await Promise.all([generator.ask<Loaded>(load), counted]);
      return { ...loaded, ...(await server.ask<Served>("served")) };
    } catch (error) {
      // One that has ended knows more of it than a generator that finds it gone.
      await server.ask<Served>("served");
      throw error;
    } finally {
      server.onNews(() => {});
      await generator.end();
    }
  };
  return {
    seeded,
    load(options = {}) {
      const generator = startChild("load");
      let paused = false;
      server.onNews((news) => {
        const { waiting } = news as { waiting: number };
        if (waiting > mostWaiting === paused) return;
        paused = !paused;
        tell(generator, { paused });
      });
      detail(": under load");
      return measured(generator, options);
    },
    loadInSlices() {
      const generator = startChild("load");
      const sample = measured(generator, { inSlices: true });
      const isOver = sample.then(
        () => {},
        () => {},
      );
      return {
        sample,
        async next() {
          const isAnswered = new Promise<void>((resolve) => generator.onNews(() => resolve()));
          tell(generator, { turn: true });
          await Promise.race([isOver, setTimeout(sliceMs)]);
          tell(generator, { turn: false });
          await Promise.race([isOver, isAnswered]);
        },
      };
    },
    look: () => server.ask<Served>("served"),
    end,
  };
}

function tell(generator: Child, order: Order): void {
  generator.tell(order);
}

/** Measures servers that all run, a slice of one after a slice of the other; samples in their order. */
async function sliced(targets: readonly Target[]): Promise<Sample[]> {
  const all = targets.map((target) => target.loadInSlices());
  let isOver = false;
  const samples = Promise.all(all.map(({ sample }) => sample)).finally(() => {
    isOver = true;
  });
  samples.catch(() => {});
  while (!isOver) for (const slices of all) await slices.next();
  return samples;
}

/** How variants are measured in turns. */
export interface Turns {
  readonly rateOf?: (variant: Variant) => number | undefined;
  /** All servers of a round run, and are measured in slices. */
  readonly inSlices?: boolean;
}

/**
 * Measures variants in turns (A B C, A B C, …), each time on a new server; `show` is given one sample a round by label,
 * of the rounds that were finished, also when one fails.
 */
export async function inTurns(
  variants: readonly Variant[],
  context: Context,
  show: (samples: ReadonlyMap<string, readonly Sample[]>) => void,
  { rateOf = () => undefined, inSlices = false }: Turns = {},
): Promise<void> {
  const rounds: Sample[][] = [];
  const oneByOne = async (head: string): Promise<Sample[]> => {
    const round: Sample[] = [];
    for (const variant of variants) {
      context.doing(`${head} ${labelOf(variant)}`);
      const rate = rateOf(variant);
      const target = await startTarget(variant, context);
      const load = target.load(rate === undefined ? {} : { rate });
      round.push(await load.finally(() => target.end()));
    }
    return round;
  };
  const inSlicesOfAll = async (head: string): Promise<Sample[]> => {
    context.doing(`${head} ${variants.map(labelOf).join(", ")}`);
    const targets: Target[] = [];
    try {
      for (const variant of variants) targets.push(await startTarget(variant, context));
      return await sliced(targets);
    } finally {
      for (const target of targets) await target.end();
    }
  };
  try {
    while (rounds.length < context.rounds) {
      const head = `${rounds.length + 1}/${context.rounds}`;
      const round = await (inSlices ? inSlicesOfAll(head) : oneByOne(head));
      rounds.push(round);
      for (const [at, { perSecond, p99 }] of round.entries()) {
        const name = `${head} ${labelOf(variants[at] as Variant)}`;
        context.progress(`${name}: ${Math.round(perSecond)}/s, p99 ${p99.toFixed(1)} ms`);
      }
    }
  } finally {
    const ofEach = variants.map((variant, at) => {
      const own = rounds.map((round) => round[at] as Sample);
      return [labelOf(variant), own] as const;
    });
    show(new Map(ofEach));
  }
}
