import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Benchmark, type Context, figure, type Sample, type Subject } from "../benchmark.ts";
import { startChild } from "../child.ts";
import { eight } from "../deliveries.ts";
import { connections, figures, overHttp, type Variant } from "../http.ts";
import { newFolder } from "../inboxes.ts";
import type { Acknowledged, Load } from "../programs/load.ts";
import type { Serve } from "../programs/server.ts";

interface Peer extends Variant {
  /** It keeps what it has acknowledged, and works on it after a restart. */
  readonly keeps: boolean;
}

const manifest = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
const { devDependencies: versions } = JSON.parse(manifest) as {
  readonly devDependencies: Readonly<Record<string, string>>;
};
const named = (name: string, where: string): string => `${name} ${versions[name]}, ${where}`;
const other = { host: "node:http", inbox: "none", work: true, keeps: false } as const;
const ours = { work: true, keeps: true } as const;

const all: readonly Peer[] = [
  {
    ...other,
    instead: "octokit",
    scheme: "github",
    label: named("@octokit/webhooks", "node:http"),
  },
  { ...other, instead: "bolt", scheme: "slack", label: named("@slack/bolt", "HTTPReceiver") },
  {
    ...other,
    instead: "standardwebhooks",
    scheme: "standard",
    label: named("standardwebhooks", "Express"),
  },
  {
    ...other,
    instead: { engine: "redis" },
    keeps: true,
    label: named("bullmq", "by hand, Express + Redis"),
  },
  {
    ...ours,
    host: "express",
    inbox: "memory",
    keeps: false,
    label: "reporthook, Express + memory",
  },
  { ...ours, host: "express", inbox: "sqlite", label: "reporthook, Express + SQLite" },
  { ...ours, host: "node:http", inbox: "sqlite", label: "reporthook, node:http + SQLite" },
  { ...ours, host: "express", inbox: "redis", label: "reporthook, Express + Redis" },
];

const killed = { rate: 200, afterMs: 2_000, handlerMs: 100 };
/** BullMQ looks for stalled jobs each 30 s, and takes them up the second time. */
const patienceMs = 90_000;
const lookEveryMs = 100;

/** How other libraries that receive webhooks fare. */
export const peers: Benchmark = {
  name: "peers",
  title: "Other libraries",
  about: `Each as its README has it, with the package as published: the same bodies, signed for it before they are sent, the same load and the same handler. @octokit/webhooks and, as it is usually written, standardwebhooks answer once the handler is done: nothing that they acknowledged is lost, but a sender waits for the handler, and a handler that fails or is too slow is the sender's to try again. Bolt answers before the handler runs, BullMQ by hand and reporthook once the notification is stored. The signature of reporthook's service is only looked up there, that of the others is computed; BullMQ by hand verifies nothing. Killed: ${killed.rate} requests a second to a handler that takes ${killed.handlerMs} ms and adds a line to a file, \`kill -9\` after ${killed.afterMs / 1_000} s, a restart; lost is what was answered 200 and never handled. What reporthook keeps in Redis survives as long as Redis does.`,
  figures: [
    { ...figures.perSecond, column: "acknowledged/s", isCompared: false, isRow: false },
    figure("handled/s", "handledPerSecond", 0),
    figures.p50,
    figures.p99,
    figures.cpu,
    figures.generator,
    figure("acknowledged until killed", "acknowledged", 0),
    figure("lost", "lost", 0),
    figure("s until all was handled", "recovered", 1),
  ],
  maxRounds: 3,
  groups: [{ name: "all", engine: "redis", subjects: all.map(subjectOf) }],
};

function subjectOf({ keeps, ...variant }: Peer): Subject {
  const subject = overHttp(variant);
  return {
    ...subject,
    async measure(context) {
      const sample = await subject.measure(context);
      context.detail(": killed");
      return { ...sample, ...(await kill({ ...variant, keeps }, context)) };
    },
  };
}

async function kill(
  { keeps, scheme, label: _, ...variant }: Peer,
  context: Context,
): Promise<Sample> {
  const { build } = context;
  const folder = newFolder();
  const file = join(folder, "handled");
  const handler = { ms: killed.handlerMs, file };
  const serve: Serve = { ...variant, folder, handler };
  const generator = startChild("load");
  const children = [generator];
  const start = async (): Promise<number> => {
    const server = startChild("server", { build });
    children.push(server);
    return server.ask<number>(serve);
  };
  try {
    const load = { port: await start(), connections, ...(scheme && { scheme }), rate: killed.rate };
    const unused = { warmUpMs: 0, measureMs: 0 };
    const asked: Load = { ...load, ...unused, untilGone: true };
    const answered = generator.ask<Acknowledged>(asked);
    await pause(killed.afterMs);
    await children.at(-1)?.end();
    const { acknowledged } = await answered;
    const lost = (): number => {
      const text = existsSync(file) ? readFileSync(file, "utf8") : "";
      const handled = new Set(text.split("\n"));
      return acknowledged.filter((number) => !handled.has(`r-${eight(number)}`)).length;
    };
    const from = performance.now();
    await start();
    const until = keeps ? patienceMs : 0;
    while (lost() > 0 && performance.now() - from < until) await pause(lookEveryMs);
    const recovered = (performance.now() - from) / 1_000;
    return { acknowledged: acknowledged.length, lost: lost(), ...(keeps && { recovered }) };
  } finally {
    await Promise.all(children.map((child) => child.end()));
    rmSync(folder, { recursive: true, force: true });
  }
}
