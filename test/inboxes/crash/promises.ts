import type { Entry, State } from "@reporthook/core";
import { states } from "@reporthook/core/store";
import type { AppProcess } from "./app-process.ts";
import type { Scene } from "./scene.ts";
import { patienceMs } from "./sender.ts";

const settledMs = 3 * patienceMs;

/** Has everything acknowledged and the last app work until it is idle and end in peace; returns each promise that is broken. */
export async function brokenPromises(scene: Scene, app: AppProcess): Promise<string[]> {
  const { sender } = scene;
  const url = await app.url;
  for (const sent of sender.sent) if (sent.ids.size === 0) await sender.insist(url, sent);
  await app.idle(settledMs);
  const entries = await app.list();
  const counts = await app.counts();
  const { code } = await app.end();
  return [
    ...(code === 0 ? [] : [`told to end, the app ended with ${code}: ${app.output}`]),
    ...ofDeliveries(scene, entries),
    ...ofRuns(scene, entries),
    ...states.flatMap((state) => {
      const listed = entries.filter((entry) => entry.state === state).length;
      return counts[state] === listed ? [] : [`${counts[state]} counted, ${listed} ${state}`];
    }),
    ...ofFile(scene, entries),
  ];
}

/** Each was stored once, and came to the end of its way. */
function ofDeliveries({ sender, effects }: Scene, entries: readonly Entry[]): string[] {
  const entryOf = new Map(entries.map((entry) => [entry.id, entry]));
  const had = new Set(effects());
  const broken: string[] = [];
  for (const { reportId, forged, ids } of sender.sent) {
    if (ids.size !== 1) broken.push(`${reportId} was acknowledged as ${[...ids].join(", ")}`);
    for (const id of ids) {
      const entry = entryOf.get(id);
      const { state, reason } = entry ?? {};
      const is = `${reportId} (${id}) is ${state}, ${reason?.code}`;
      const poisoned = state === "dead" && reason?.code === "poison";
      const ended: State = forged ? "rejected" : "handled";
      if (state !== ended && !poisoned) broken.push(is);
      if (had.has(id) && forged) broken.push(`${is}, and had its effect`);
      if (!had.has(id) && state === "handled") broken.push(`${is} without its effect`);
    }
  }
  const acknowledged = new Set(sender.sent.flatMap(({ ids }) => [...ids]));
  const extra = entries.filter(({ id }) => !acknowledged.has(id));
  if (extra.length > 0) broken.push(`${extra.length} stored twice: ${extra[0]?.id}`);
  return broken;
}

/** Handlers ran for genuine ones only, each with one id. */
function ofRuns({ sender, runs, effects }: Scene, entries: readonly Entry[]): string[] {
  const known = new Set(entries.map(({ id }) => id));
  const idOf = new Map<string, string>();
  const broken = effects().flatMap((id) => (known.has(id) ? [] : [`${id} had an effect`]));
  const forged = new Set(sender.sent.flatMap((one) => (one.forged ? [one.reportId] : [])));
  for (const { id, reportId } of runs()) {
    if (forged.has(reportId)) broken.push(`forged ${reportId} was handled`);
    const first = idOf.get(reportId) ?? id;
    if (first !== id) broken.push(`${reportId} was handled as ${first} and ${id}`);
    idOf.set(reportId, first);
  }
  return broken;
}

/** The file is whole, nothing in it is leased, and it says what the list said. */
function ofFile({ read }: Scene, entries: readonly Entry[]): string[] {
  const broken: string[] = [];
  const expect = (sql: string, expected: unknown): void => {
    const values = read(sql).map((row) => Object.values(row)[0]);
    if (JSON.stringify(values) !== JSON.stringify([expected])) {
      broken.push(`${sql}: ${JSON.stringify(values)} instead of ${JSON.stringify(expected)}`);
    }
  };
  expect("PRAGMA integrity_check", "ok");
  expect("SELECT count(*) FROM delivery", entries.length);
  expect("SELECT count(*) FROM delivery WHERE queue IS NOT NULL", 0);
  const counted = `SELECT sum(value) FROM tally, json_each(counts) WHERE key IN ('${states.join("', '")}')`;
  expect(counted, entries.length);
  expect("SELECT count(*) FROM tally, json_each(counts) WHERE value < 0", 0);
  const last = "(SELECT sum(value) FROM tally, json_each(counts) WHERE key = 'ever')";
  expect(`SELECT count(*) FROM delivery WHERE seq > ${last}`, 0);
  return broken;
}
