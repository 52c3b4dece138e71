import type { Benchmark } from "../benchmark.ts";
import { compare, generator, withEachInbox } from "../compare.ts";
import { inTurns, type Sample } from "../over-http.ts";
import { numberText, spreadOf } from "../statistics.ts";

const share = 0.7;

/** How long an answer takes, and how long the event loop is held up, at a load that the bare server bears well. */
export const latency: Benchmark = {
  name: "latency",
  title: "Latency and event-loop delay at 70 % of the bare throughput",
  about:
    "An open loop: requests come at a fixed rate whatever the server does, and each is measured from the moment it was due. The event-loop delay is that of the server (`monitorEventLoopDelay`).",
  async run(context) {
    let full: readonly Sample[] = [];
    await inTurns([{ host: "express", inbox: "none" }], context, (samples) => {
      [full = []] = samples.values();
    });
    const rate = Math.round(share * spreadOf(full.map((s) => s.perSecond)).median);
    const result = await compare(
      [withEachInbox({ host: "express" })],
      [
        { column: "requests/s", digits: 0, of: (s) => s.perSecond },
        { column: "p50 ms", digits: 2, of: (s) => s.p50, compared: true },
        { column: "p99 ms", digits: 2, of: (s) => s.p99, compared: true },
        { column: "loop delay p99 ms", digits: 2, of: (s) => s.loopP99, compared: true },
        { column: "loop delay max ms", digits: 1, of: (s) => s.loopMax },
        generator,
      ],
      context,
      { rateOf: () => rate },
    );
    const note = `The rate: ${numberText(rate, 0)} requests/s.`;
    return { ...result, notes: [note, ...(result.notes ?? [])] };
  },
};
