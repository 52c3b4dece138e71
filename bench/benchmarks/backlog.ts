import { type Benchmark, type Context, inParts, type Result } from "../benchmark.ts";
import { withoutSqlite } from "../compare.ts";
import { inboxesHere } from "../inboxes.ts";
import { type Sample, startTarget } from "../over-http.ts";
import { numberText, ratios, show, spreadOf } from "../statistics.ts";

/** What a million waiting deliveries cost. */
export const backlog: Benchmark = {
  name: "backlog",
  title: "A million deliveries wait",
  about:
    "Acknowledging on Express with 1,000,000 deliveries in the inbox against an empty one. The full one stays over all rounds, the empty one is new in each.",
  run,
};

async function run(context: Context): Promise<Result> {
  const waiting = Math.round(1_000_000 * context.scale);
  const raw: Record<string, unknown> = {};
  const rows: string[][] = [];
  const missing = await inParts(inboxesHere(), String, async (inbox) => {
    context.doing(`${inbox}, stored`);
    const full = await startTarget({ host: "express", inbox, waiting }, context);
    const { rssMb } = await full.look();
    context.progress(`${inbox}: ${numberText(waiting, 0)} wait`);
    const samples: { empty: Sample[]; full: Sample[] } = { empty: [], full: [] };
    try {
      for (let round = 1; round <= context.rounds; round++) {
        const head = `${round}/${context.rounds} ${inbox}`;
        context.doing(`${head}, empty`);
        const empty = await startTarget({ host: "express", inbox }, context);
        samples.empty.push(await empty.load().finally(() => empty.end()));
        context.doing(`${head}, full`);
        samples.full.push(await full.load());
        context.progress(head);
      }
    } finally {
      await full.end();
    }
    const [ofEmpty, ofFull] = [samples.empty, samples.full].map((all) =>
      all.map(({ perSecond }) => perSecond),
    ) as [number[], number[]];
    rows.push([
      inbox,
      numberText(spreadOf(ofEmpty).median, 0),
      numberText(spreadOf(ofFull).median, 0),
      show(spreadOf(ratios(ofFull, ofEmpty)), 2),
      numberText(rssMb, 0),
    ]);
    raw[inbox] = { waiting, rssMb, ...samples };
  });
  return {
    columns: ["inbox", "requests/s, empty", `requests/s, ${numberText(waiting, 0)} waiting`].concat(
      ["full / empty", "RSS MB before the load"],
    ),
    rows,
    notes: inboxesHere().includes("sqlite") ? [] : [withoutSqlite],
    missing,
    raw,
  };
}
