import type { Benchmark } from "../benchmark.ts";
import { compare, cpu, generator, withEachInbox } from "../compare.ts";

/** How many notifications a second are acknowledged. */
export const acknowledge: Benchmark = {
  name: "acknowledge",
  title: "Acknowledging",
  about:
    "A receiver that only receives (`autostart: false`) against the same framework without it, which reads and parses the body and answers 200.",
  run: (context) =>
    compare(
      [
        withEachInbox({ host: "express" }),
        withEachInbox({ host: "koa" }),
        withEachInbox({ host: "hono" }),
        withEachInbox({ host: "node:http" }),
      ],
      [
        { column: "requests/s", digits: 0, of: (s) => s.perSecond, compared: true },
        { column: "p50 ms", digits: 1, of: (s) => s.p50 },
        { column: "p99 ms", digits: 1, of: (s) => s.p99 },
        { column: "loop delay p99 ms", digits: 1, of: (s) => s.loopP99 },
        cpu,
        generator,
      ],
      context,
    ),
};
