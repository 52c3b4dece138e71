import type { Benchmark, Group } from "../benchmark.ts";
import { figures, overHttp, type Variant } from "../http.ts";
import type { EngineName } from "../inboxes.ts";

const { perSecond, p50, p99, waiting, cpu, generator } = figures;
const host = "express";
const rowOnRedis =
  "express + redis, acknowledged, verified and handled / express + `queue.add()` and a worker by hand";

function group(engine: EngineName, work: boolean): Group {
  const suffix = work ? ", working" : "";
  const byHand = (dedupes: boolean): Variant => ({
    host,
    inbox: "none",
    work,
    instead: { engine, dedupes },
    label: `by hand, ${engine}${dedupes ? ", tells copies" : ""}${suffix}`,
  });
  return {
    name: `${engine}-${work ? "working" : "acknowledging"}`,
    engine,
    subjects: [
      byHand(false),
      byHand(true),
      {
        ...({ host, inbox: engine, work, label: `express + ${engine}${suffix}` } as const),
        ...(work && engine === "redis" && { row: rowOnRedis }),
      },
    ].map(overHttp),
  };
}

/** The inbox in queues against the way by hand on the same engine. */
export const queues: Benchmark = {
  name: "queues",
  title: "Queues: against the way by hand",
  about:
    "Express with BullMQ's queues on Redis (`appendfsync always`) and PostgreSQL. By hand: `express.json()`, `await queue.add()`, 200, and a worker that does nothing: nothing is verified, and no duplicates are told unless the row says so. Working is acknowledged, verified and handled, as in `sustained`.",
  figures: [perSecond, p50, p99, waiting, cpu, generator],
  groups: [true, false].flatMap((work) =>
    (["redis", "postgres"] as const).map((engine) => group(engine, work)),
  ),
};
