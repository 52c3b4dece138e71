import type { Benchmark } from "../benchmark.ts";
import { compare, cpu, generator } from "../compare.ts";
import { type EngineName, engines, withEngines } from "../engines.ts";
import type { Variant } from "../over-http.ts";

/** The inbox in queues against the hand-made way on the same engine, and against a file. */
export const queues: Benchmark = {
  name: "queues",
  title: "Queues: against the hand-made way",
  about:
    "Express with BullMQ's queues on Redis (`appendfsync always`) and PostgreSQL. The hand-made way is `express.json()`, `await queue.add()`, 200, and a worker that does nothing: one stage where we have two, and no duplicates told unless the row says so. The first of each group is what the others are compared with; first acknowledged only, then worked on, too.",
  run: (context) =>
    withEngines(() =>
      compare(
        [false, true].flatMap((work) => engines.map((engine) => group(engine, work))),
        [
          { column: "requests/s", digits: 0, of: (s) => s.perSecond, compared: true },
          { column: "p50 ms", digits: 1, of: (s) => s.p50 },
          { column: "p99 ms", digits: 1, of: (s) => s.p99 },
          { column: "waiting at the end", digits: 0, of: (s) => s.waiting },
          cpu,
          generator,
        ],
        context,
      ),
    ),
};

function group(engine: EngineName, work: boolean): Variant[] {
  const host = "express";
  const byHand = (dedupes: boolean): Variant => ({
    ...{ host, inbox: "none", work, handMade: { engine, dedupes } },
  });
  return [
    byHand(false),
    byHand(true),
    { host, inbox: engine, work },
    { host, inbox: "sqlite", work },
  ];
}
