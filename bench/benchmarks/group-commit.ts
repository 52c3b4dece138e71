import { rmSync } from "node:fs";
import { type Benchmark, type Context, type Result, Skipped } from "../benchmark.ts";
import { inboxesHere, newFolder } from "../inboxes.ts";
import { onInbox } from "../on-inbox.ts";
import { slowFsync } from "../slow-fsync.ts";
import { numberText, ratios, show, spreadOf } from "../statistics.ts";

const fsyncMs = 2;
const widths = [1, 64, 256];

/** What it brings to store together what arrives together. */
export const groupCommit: Benchmark = {
  name: "group-commit",
  title: "Adds at once against adds one by one, on a slow disk",
  about: `Straight on the SQLite inbox; every fsync takes ${fsyncMs} ms more.`,
  run,
};

async function run({ rounds, scale, doing, detail, progress }: Context): Promise<Result> {
  if (!inboxesHere().includes("sqlite")) throw new Skipped("`@reporthook/sqlite` is not here");
  const folder = newFolder();
  try {
    const env = slowFsync(folder, fsyncMs);
    const raw: Record<string, number[]> = {};
    for (let round = 1; round <= rounds; round++) {
      for (const atOnce of widths) {
        const count = Math.round((atOnce === 1 ? 1_000 : 40_000) * scale);
        const head = `${round}/${rounds} ${atOnce} at once`;
        doing(head);
        const direct = { inbox: "sqlite", count, atOnce, work: false } as const;
        const perSecond = await onInbox(direct, detail, env);
        raw[atOnce] = [...(raw[atOnce] ?? []), perSecond];
        progress(`${head}: ${Math.round(perSecond)}/s`);
      }
    }
    const rows = widths.map((atOnce) => {
      const values = raw[atOnce] ?? [];
      const ratio = show(spreadOf(ratios(values, raw[1] ?? [])), 1);
      return [String(atOnce), numberText(spreadOf(values).median, 0), atOnce === 1 ? "1" : ratio];
    });
    return { columns: ["adds at once", "stored/s", "/ one by one"], rows, raw };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
