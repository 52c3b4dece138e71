import type { Benchmark } from "../benchmark.ts";
import { answering, compare, withEachInbox } from "../compare.ts";

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
      answering,
      context,
    ),
};
