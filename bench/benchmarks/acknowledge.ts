import type { Benchmark } from "../benchmark.ts";
import { answering, compare, loopDelay, withEachInbox } from "../compare.ts";

/** How many notifications a second are acknowledged. */
export const acknowledge: Benchmark = {
  name: "acknowledge",
  title: "Acknowledging",
  about:
    "A receiver that only receives (`autostart: false`) against the same framework without it, which reads and parses the body and answers 200. The servers of a framework run at the same time, each with a generator of its own, and take turns of a quarter of a second, so that what slows the machine down for a while slows all of them.",
  run: (context) =>
    compare(
      [
        withEachInbox({ host: "express" }),
        withEachInbox({ host: "koa" }),
        withEachInbox({ host: "hono" }),
        withEachInbox({ host: "node:http" }),
      ],
      // One that waits for its slice would be counted as one whose loop is quick.
      answering.filter((figure) => figure !== loopDelay),
      context,
      { inSlices: true },
    ),
};
