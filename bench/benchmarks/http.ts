import type { Benchmark, Context, Group } from "../benchmark.ts";
import { figures, inSlices, overHttp, type Variant } from "../http.ts";
import type { InboxName } from "../inboxes.ts";
import type { HostName } from "../servers/hosts.ts";
import { spreadOf } from "../statistics.ts";

const { perSecond, p50, p99, loopDelay, waiting, rss, cpu, generator } = figures;

/** A framework without us, and with the memory and the SQLite inbox; `what` the rows of the report's first table are about. */
function withEachInbox(
  variant: Omit<Variant, "inbox">,
  what: string,
  inRows: readonly InboxName[],
  ...others: Variant[]
): Group {
  const { host, rate } = variant;
  const of = (inbox: "memory" | "sqlite"): Variant => ({
    ...variant,
    inbox,
    ...(inRows.includes(inbox) && { row: `${host} + ${inbox}, ${what} / bare` }),
  });
  const bare: Variant = { host, inbox: "none", ...(rate && { rate }) };
  return {
    name: host,
    subjects: [bare, of("memory"), of("sqlite"), ...others].map(overHttp),
  };
}

const hosts: readonly HostName[] = ["express", "koa", "hono", "node:http"];
const byHand: Variant = {
  host: "node:http",
  inbox: "none",
  instead: "file",
  label: "one INSERT by hand",
};

/** How many notifications a second are acknowledged. */
export const acknowledge: Benchmark = {
  name: "acknowledge",
  title: "Acknowledging",
  about:
    "A receiver that only receives (`autostart: false`) against the same framework without it, which reads and parses the body and answers 200. By hand: an id, a hash that tells copies, one `INSERT` with `synchronous=FULL` for each request, 200. The servers of a framework run at the same time, each with a generator of its own, and take turns of a quarter of a second, so that what slows the machine down for a while slows all of them.",
  // The delay of a loop that waits for its slice would say nothing.
  figures: [perSecond, p50, p99, cpu, generator],
  groups: hosts.map((host) => ({
    ...(host === "node:http"
      ? withEachInbox({ host }, "acknowledged", ["sqlite"], byHand)
      : withEachInbox({ host }, "acknowledged", [])),
    atOnce: inSlices,
  })),
};

/** How many notifications a second are acknowledged, verified and handled. */
export const sustained: Benchmark = {
  name: "sustained",
  title: "Acknowledging, verifying and handling",
  about:
    "The receiver works, too: authorize answers at once in process, and a handler for `*` does nothing. While more than 2,000 deliveries wait the generator sends nothing, so that what is acknowledged is also handled.",
  figures: [perSecond, waiting, loopDelay, rss, cpu, generator],
  groups: hosts
    .filter((host) => host !== "koa")
    .map((host) =>
      withEachInbox(
        { host, work: true },
        "acknowledged, verified and handled",
        host === "node:http" ? ["memory", "sqlite"] : ["sqlite"],
      ),
    ),
};

const share = 0.7;
let ratePerSecond: number | undefined;

/** A share of what the bare server answers, measured once for all that are compared. */
async function rate(context: Context): Promise<number> {
  if (ratePerSecond !== undefined) return ratePerSecond;
  const full: number[] = [];
  for (let times = 0; times < 3; times++) {
    const sample = await overHttp({ host: "express", inbox: "none" }).measure(context);
    full.push(sample["perSecond"] ?? Number.NaN);
  }
  ratePerSecond = Math.round(share * spreadOf(full).median);
  return ratePerSecond;
}

/** How long an answer takes, and how long the event loop is held up, at a load that the bare server bears well. */
export const latency: Benchmark = {
  name: "latency",
  title: "Latency and event-loop delay at 70 % of the bare throughput",
  about:
    "An open loop: requests come at a fixed rate whatever the server does, and each is measured from the moment it was due. The event-loop delay is that of the server (`monitorEventLoopDelay`). What is acknowledged is not worked on.",
  figures: [
    { ...perSecond, isCompared: false, isRow: false },
    { ...p50, isCompared: true },
    { ...p99, isCompared: true, isRow: true },
    { ...loopDelay, isCompared: true },
    generator,
  ],
  groups: [withEachInbox({ host: "express", rate }, "p99 at 70 % load", ["sqlite"])],
};
