import { rmSync } from "node:fs";
import type { Context } from "./benchmark.ts";
import { startChild } from "./child.ts";
import type { HandMade } from "./hand-made.ts";
import type { HostName } from "./hosts.ts";
import { type InboxName, newFolder } from "./inboxes.ts";
import type { Load, Loaded } from "./load.ts";
import type { Serve, Served } from "./server.ts";
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
  "no SDK": "`telemetry()`, no SDK",
  SDK: "`telemetry()` and an SDK",
};

/** What a variant is called in tables. */
function labelOf({ host, inbox, handMade, telemetry, work }: Variant): string {
  if (telemetry) return `${telemetries[telemetry]}${work ? ", working" : ""}`;
  if (handMade) return `hand-made, ${handMade.engine}${handMade.dedupes ? ", tells copies" : ""}`;
  return inbox === "none" ? `${host}, bare` : `${host} + ${inbox}`;
}

/** Starts a server. */
export async function startTarget(
  variant: Omit<Serve, "folder">,
  { warmUpMs, measureMs }: Context,
): Promise<Target> {
  const folder = newFolder();
  const ahead = new URL("./without-seam.js", import.meta.url).href;
  const env = variant.telemetry === "no seam" ? { NODE_OPTIONS: `--import=${ahead}` } : {};
  const server = startChild("server", env);
  const { port } = await server.ask<{ port: number }>({ ...variant, folder } satisfies Serve);
  return {
    async load(options = {}) {
      const generator = startChild("load");
      let paused = false;
      server.onNews((news) => {
        const { waiting } = news as { waiting: number };
        if (waiting > mostWaiting === paused) return;
        paused = !paused;
        generator.tell({ paused });
      });
      const load: Load = { port, connections, warmUpMs, measureMs, ...options };
      try {
        await server.ask<Served>("served");
        const loaded = await generator.ask<Loaded>(load);
        return { ...loaded, ...(await server.ask<Served>("served")) };
      } finally {
        server.onNews(() => {});
        await generator.end();
      }
    },
    look: () => server.ask<Served>("served"),
    async end() {
      await server.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Measures variants in turns (A B C, A B C, …), each time on a new server; by label, one sample a round. */
export async function inTurns(
  variants: readonly Variant[],
  context: Context,
  rateOf: (variant: Variant) => number | undefined = () => undefined,
): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(variants.map((variant) => [labelOf(variant), []]));
  for (let round = 1; round <= context.rounds; round++) {
    for (const variant of variants) {
      const rate = rateOf(variant);
      const target = await startTarget(variant, context);
      const sample = await target
        .load(rate === undefined ? {} : { rate })
        .finally(() => target.end());
      samples.get(labelOf(variant))?.push(sample);
      const { perSecond, p99 } = sample;
      context.progress(
        `${round}/${context.rounds} ${labelOf(variant)}: ${Math.round(perSecond)}/s, p99 ${p99.toFixed(1)} ms`,
      );
    }
  }
  return samples;
}
