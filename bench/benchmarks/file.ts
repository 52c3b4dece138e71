import type { Benchmark } from "../benchmark.ts";
import { answering, compare } from "../compare.ts";
import type { Variant } from "../over-http.ts";

const host = "node:http";

/** The inbox in a file against what somebody would write by hand. */
export const file: Benchmark = {
  name: "file",
  title: "A file: against the hand-made way",
  about:
    "What it takes at least not to lose what was acknowledged: `node:http`, an id, a hash that tells copies, one `INSERT` into a table with `synchronous=FULL`, 200. One by one on the event loop, as it is usually written, and grouped in a thread, as the inbox does it. Neither has stages, leases, counts, lists or limits, nor does it look at what it stores.",
  run: (context) =>
    compare(
      [
        [
          { host, inbox: "none" },
          byHand("one by one"),
          byHand("grouped"),
          { host, inbox: "sqlite" },
        ],
      ],
      answering,
      context,
    ),
};

function byHand(rows: "one by one" | "grouped"): Variant {
  return { host, inbox: "none", handMade: { rows } };
}
