import type { Benchmark, Group } from "../benchmark.ts";
import { figures, overHttp, type Variant } from "../http.ts";
import type { EngineName } from "../inboxes.ts";

const { perSecond, p50, p99, waiting, cpu, generator } = figures;
const host = "express";

function group(engine: EngineName, work: boolean): Group {
  const what = work ? "the whole way" : "acknowledged";
  const suffix = work ? ", working" : "";
  const byHand = (dedupes: boolean): Variant => ({
    ...{ host, inbox: "none", work, instead: { engine, dedupes } },
    label: `by hand, ${engine}${dedupes ? ", tells copies" : ""}${suffix}`,
  });
  const row = `express + ${engine}, ${what} / express + \`queue.add()\`${work ? " and a worker" : ""} by hand`;
  return {
    name: `${engine}-${work ? "working" : "acknowledging"}`,
    engine,
    subjects: [
      byHand(false),
      byHand(true),
      { host, inbox: engine, work, row, label: `express + ${engine}${suffix}` } as const,
    ].map(overHttp),
  };
}

/** The inbox in queues against the way by hand on the same engine. */
export const queues: Benchmark = {
  name: "queues",
  title: "Queues: against the way by hand",
  about:
    "Express with BullMQ's queues on Redis (`appendfsync always`) and PostgreSQL. By hand: `express.json()`, `await queue.add()`, 200, and a worker that does nothing: nothing is verified, and no duplicates are told unless the row says so. The whole way is acknowledged, verified and handled, as in `sustained`.",
  figures: [perSecond, p50, p99, waiting, cpu, generator],
  groups: [true, false].flatMap((work) =>
    (["redis", "postgres"] as const).map((engine) => group(engine, work)),
  ),
};
