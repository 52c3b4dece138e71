import type { Benchmark } from "../benchmark.ts";
import { compare, cpu, generator, withEachInbox } from "../compare.ts";

/** How many notifications a second are acknowledged, verified and handled. */
export const sustained: Benchmark = {
  name: "sustained",
  title: "Acknowledging, verifying and handling",
  about:
    "The receiver works, too: authorize answers at once in process, and a handler for `*` does nothing. While more than 2,000 deliveries wait the generator sends nothing, so that what is acknowledged is also handled.",
  run: (context) =>
    compare(
      [
        withEachInbox({ host: "express", work: true }),
        withEachInbox({ host: "hono", work: true }),
        withEachInbox({ host: "node:http", work: true }),
      ],
      [
        { column: "requests/s", digits: 0, of: (s) => s.perSecond, compared: true },
        { column: "waiting at the end", digits: 0, of: (s) => s.waiting },
        { column: "loop delay p99 ms", digits: 1, of: (s) => s.loopP99 },
        { column: "RSS MB", digits: 0, of: (s) => s.rssMb },
        cpu,
        generator,
      ],
      context,
    ),
};
