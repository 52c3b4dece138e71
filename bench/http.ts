import { rmSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import {
  type Context,
  type Figure,
  figure,
  type Group,
  type Sample,
  type Subject,
} from "./benchmark.ts";
import { type Child, startChild } from "./child.ts";
import { newFolder } from "./inboxes.ts";
import type { Load, Loaded, News, Order } from "./programs/load.ts";
import type { Scheme } from "./programs/requests.ts";
import type { Serve, Served } from "./programs/server.ts";
import { type HowFar, howFar } from "./progress.ts";

/** A server, and the load that it is measured under. */
export interface Variant
  extends Omit<Serve, "folder">,
    Partial<Pick<Subject, "label" | "base" | "row">> {
  readonly scheme?: Scheme;
  readonly bodyBytes?: number;
  /** Requests a second, even when the server answers fewer; as many as it answers when left out. */
  readonly rate?: (context: Context) => Promise<number>;
  /** The same server is measured in all rounds. */
  readonly stays?: boolean;
}

/** A subject that is a server. */
export interface HttpSubject extends Subject {
  start(context: Context): Promise<Target>;
}

/** A server under test, in a separate process. */
export interface Target {
  load(): Promise<Sample>;
  /** The same in slices, which {@link Slices.next} hands out one at a time. */
  loadInSlices(): Slices;
  end(): Promise<void>;
}

interface Slices {
  /** Resolves when all is measured. */
  readonly sample: Promise<Sample>;
  /** Gives it a turn; resolves when that is over and every request of it answered. */
  next(): Promise<void>;
}

/** How long a turn is: short, so that what slows the machine down slows all of a round. */
const sliceMs = 250;
/** The backlog at which the generator waits, so that a server that works too is measured with a backlog that stays. */
const maxWaiting = 2_000;

/** Requests that are under way at once. */
export const connections = 64;

type FigureName =
  | ("perSecond" | "p50" | "p99" | "loopDelay")
  | ("waiting" | "rss" | "cpu" | "generator");

/** The figures that most tables show. */
export const figures: Readonly<Record<FigureName, Figure>> = {
  perSecond: figure("requests/s", "perSecond", 0, { isCompared: true, isRow: true }),
  p50: figure("p50 ms", "p50", 2),
  p99: figure("p99 ms", "p99", 2),
  /** How long the event loop is held up, where the server is under load all the time. */
  loopDelay: figure("loop delay p99 ms", "loopP99", 2),
  waiting: figure("waiting at the end", "waiting", 0),
  rss: figure("RSS MB", "rssMb", 0),
  /** CPU time a request, which other load on the machine hardly changes. */
  cpu: figure("CPU µs/request", "cpuUs", 0),
  /** The generator must not be what is measured. */
  generator: figure("generator, cores", "generator", 2),
};

/** Measures a server over HTTP, a new one in each round unless it stays. */
export function overHttp(variant: Variant): HttpSubject {
  const { host, inbox, base, row, stays = false } = variant;
  const label = inbox === "none" ? `${host}, bare` : `${host} + ${inbox}`;
  const standing = new Map<string | undefined, Promise<Target>>();
  const start = (context: Context): Promise<Target> => startTarget(variant, context);
  const stay = (context: Context): Promise<Target> => {
    const target = standing.get(context.build) ?? start(context);
    if (!standing.has(context.build)) {
      standing.set(context.build, target);
      context.atEnd(async () => {
        standing.delete(context.build);
        await (await target).end();
      });
    }
    return target;
  };
  return {
    label: variant.label ?? label,
    ...(base !== undefined && { base }),
    ...(row !== undefined && { row }),
    isForeign: inbox === "none",
    start,
    async measure(context) {
      const target = await (stays ? stay : start)(context);
      try {
        return await target.load();
      } finally {
        if (!stays) await target.end();
      }
    },
  };
}

/** Measures servers that all run, a slice of one after a slice of the other. */
export const inSlices: NonNullable<Group["atOnce"]> = async (runs) => {
  const targets: Target[] = [];
  try {
    for (const { subject, context } of runs) {
      targets.push(await (subject as HttpSubject).start(context));
    }
    const all = targets.map((target) => target.loadInSlices());
    let isOver = false;
    const samples = Promise.all(all.map(({ sample }) => sample)).finally(() => {
      isOver = true;
    });
    samples.catch(() => {});
    while (!isOver) for (const slices of all) await slices.next();
    return await samples;
  } finally {
    for (const target of targets) await target.end();
  }
};

async function startTarget(variant: Variant, context: Context): Promise<Target> {
  const { rate, scheme, bodyBytes, receivers, waiting = 0, handled = 0 } = variant;
  const { build, warmUpMs, measureMs, scale, detail } = context;
  const folder = newFolder();
  const before = { waiting: Math.round(waiting * scale), handled: Math.round(handled * scale) };
  const serve: Serve = { ...variant, ...before, folder };
  const server = startChild("server", { build });
  const end = async (): Promise<void> => {
    await server.end();
    rmSync(folder, { recursive: true, force: true });
  };
  server.onNews((news) => {
    // One that works tells what waits from the start.
    if ("done" in (news as object)) detail(howFar(news as HowFar));
  });
  const asked = server.ask<number>(serve);
  const port = await asked.catch(async (error) => {
    await end();
    throw error;
  });
  const wanted = { port, scheme, bodyBytes, receivers };
  const measured = async (
    generator: Child,
    options: Partial<Load>,
    turnOver: () => void = () => {},
  ): Promise<Sample> => {
    const load = { ...wanted, connections, warmUpMs, measureMs, ...options } as Load;
    let warm: Promise<Served> | undefined;
    generator.onNews((news) => {
      if ("turnOver" in (news as News)) turnOver();
      // The CPU time of the warm-up is not counted.
      else warm = server.ask<Served>("served");
    });
    try {
      const loaded = await generator.ask<Loaded>(load);
      await warm;
      return sampleOf(loaded, await server.ask<Served>("served"));
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
    async load() {
      const given = rate === undefined ? {} : { rate: await rate(context) };
      const generator = startChild("load");
      let paused = false;
      server.onNews((news) => {
        const { waiting } = news as { waiting: number };
        if (waiting > maxWaiting === paused) return;
        paused = !paused;
        tell(generator, { paused });
      });
      detail(": under load");
      return measured(generator, given);
    },
    loadInSlices() {
      const generator = startChild("load");
      let turnOver = (): void => {};
      const sample = measured(generator, { inSlices: true }, () => turnOver());
      const isOver = sample.then(
        () => {},
        () => {},
      );
      return {
        sample,
        async next() {
          const isAnswered = new Promise<void>((resolve) => {
            turnOver = resolve;
          });
          tell(generator, { turn: true });
          await Promise.race([isOver, setTimeout(sliceMs)]);
          tell(generator, { turn: false });
          await Promise.race([isOver, isAnswered]);
        },
      };
    },
    end,
  };
}

function sampleOf({ answered, ...loaded }: Loaded, { cpu, handled, ...served }: Served): Sample {
  const handledPerSecond = (loaded.perSecond * handled) / answered;
  return { ...loaded, handledPerSecond, ...served, cpuUs: (cpu / answered) * 1_000 };
}

function tell(generator: Child, order: Order): void {
  generator.tell(order);
}
