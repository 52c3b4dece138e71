import { type Benchmark, type Context, inParts, type Result } from "../benchmark.ts";
import { withoutSqlite } from "../compare.ts";
import { inboxesHere } from "../inboxes.ts";
import { onInbox } from "../on-inbox.ts";
import { numberText, ratios, show, spreadOf } from "../statistics.ts";

const atOnce = 256;

/** What the work after the acknowledgement costs, without HTTP. */
export const insertAndHandle: Benchmark = {
  name: "insert-and-handle",
  title: "Storing, and storing with verifying and handling, without HTTP",
  about: `Straight on the inbox, ${atOnce} adds at once: stored only, and stored while a receiver verifies and handles until nothing waits.`,
  run,
};

async function run({ rounds, scale, doing, detail, progress }: Context): Promise<Result> {
  const count = Math.round(100_000 * scale);
  const raw: Record<string, unknown> = {};
  const rows: string[][] = [];
  const missing = await inParts(inboxesHere(), String, async (inbox) => {
    const stored: number[] = [];
    const handled: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      const head = `${round}/${rounds} ${inbox}`;
      doing(`${head}, stored`);
      stored.push(await onInbox({ inbox, count, atOnce, work: false }, detail));
      doing(`${head}, stored and handled`);
      handled.push(await onInbox({ inbox, count, atOnce, work: true }, detail));
      progress(`${head}: handled ${Math.round(handled.at(-1) ?? 0)}/s`);
    }
    rows.push([
      inbox,
      numberText(spreadOf(stored).median, 0),
      numberText(spreadOf(handled).median, 0),
      show(spreadOf(ratios(handled, stored)), 2),
    ]);
    raw[inbox] = { count, stored, handled };
  });
  return {
    columns: ["inbox", "stored/s", "stored and handled/s", "ratio"],
    rows,
    notes: inboxesHere().includes("sqlite") ? [] : [withoutSqlite],
    missing,
    raw,
  };
}
