import { rmSync } from "node:fs";
import type { Context } from "./benchmark.ts";
import { startChild } from "./child.ts";
import type { HostName } from "./hosts.ts";
import { type InboxName, newFolder } from "./inboxes.ts";
import type { Load, Loaded } from "./load.ts";
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
  /** Memory and backlog right now. */
  look(): Promise<Served>;
  end(): Promise<void>;
}

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
  return {
    seeded,
    async load(options = {}) {
      const generator = startChild("load");
      let paused = false;
      server.onNews((news) => {
        const { waiting } = news as { waiting: number };
        if (waiting > mostWaiting === paused) return;
        paused = !paused;
        generator.tell({ paused });
      });
      detail(": under load");
      const load: Load = { port, connections, warmUpMs, measureMs, ...options };
      try {
        await server.ask<Served>("served");
        const loaded = await generator.ask<Loaded>(load);
        return { ...loaded, ...(await server.ask<Served>("served")) };
      } catch (error) {
        // One that has ended knows more of it than a generator that finds it gone.
        await server.ask<Served>("served");
        throw error;
      } finally {
        server.onNews(() => {});
        await generator.end();
      }
    },
    look: () => server.ask<Served>("served"),
    end,
  };
}

/**
 * Measures variants in turns (A B C, A B C, …), each time on a new server; `show` is given one sample a round by label,
 * of the rounds that were finished, also when one fails.
 */
export async function inTurns(
  variants: readonly Variant[],
  context: Context,
  show: (samples: ReadonlyMap<string, readonly Sample[]>) => void,
  rateOf: (variant: Variant) => number | undefined = () => undefined,
): Promise<void> {
  const rounds: Sample[][] = [];
  try {
    while (rounds.length < context.rounds) {
      const round: Sample[] = [];
      for (const variant of variants) {
        const head = `${rounds.length + 1}/${context.rounds} ${labelOf(variant)}`;
        context.doing(head);
        const rate = rateOf(variant);
        const target = await startTarget(variant, context);
        const sample = await target
          .load(rate === undefined ? {} : { rate })
          .finally(() => target.end());
        round.push(sample);
        const { perSecond, p99 } = sample;
        context.progress(`${head}: ${Math.round(perSecond)}/s, p99 ${p99.toFixed(1)} ms`);
      }
      rounds.push(round);
    }
  } finally {
    const ofEach = variants.map((variant, at) => {
      const own = rounds.map((round) => round[at] as Sample);
      return [labelOf(variant), own] as const;
    });
    show(new Map(ofEach));
  }
}
