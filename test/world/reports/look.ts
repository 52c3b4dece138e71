import type { RequestRecord } from "@reporthook/core";
import type { Chance } from "../surroundings/chance.ts";
import type { World } from "../world.ts";

const answerMs = 10_000;
/** The dates that are set once. */
const dates = ["confirmedAt", "processingAt", "settledAt", "overdueAt"] as const;
const others = ["report", "context", "idempotencyKey", "answer", "reportId"] as const;
const fixed = [...others, "requestedAt", "dueAt", ...dates] as const;
const ranks = { unconfirmed: 0, open: 1, complete: 2, internal_error: 2 };

/** Looks at all requests again and again, one look after the other: what they show may only go forward. */
export function keepLooking(world: World, chance: Chance): void {
  const { time, ledger, setup } = world;
  if (time.elapsed > 2 * setup.lengthMs) return;
  let isOver = false;
  const again = (): void => {
    if (isOver) return;
    isOver = true;
    time.in(chance.between(500, 4_000), () => keepLooking(world, chance));
  };
  time.in(answerMs, again);
  world.anApp(chance)?.call((receiver) =>
    receiver.reports.list({ limit: Number.POSITIVE_INFINITY }).then(
      (records) => {
        // An older look would show the past.
        if (!isOver) for (const broken of notForward(world, records)) ledger.breaks(broken);
        again();
      },
      () => {},
    ),
  );
}

/** The faults since the last look: values that went back, or were set twice. */
export function notForward(
  { ledger: { wishes } }: World,
  records: readonly RequestRecord[],
): string[] {
  return records.flatMap((record) => {
    const before = wishes.seen.get(record.id);
    wishes.seen.set(record.id, record);
    if (before === undefined) return [];
    const isBack =
      ranks[before.state] > ranks[record.state] ||
      (before.settledAt !== null && before.state !== record.state);
    const changed = fixed.filter(
      (name) =>
        before[name] !== null && JSON.stringify(before[name]) !== JSON.stringify(record[name]),
    );
    return [
      ...(isBack ? [`${record.id} was ${before.state}, then ${record.state}`] : []),
      ...changed.map((name) => `${name} of ${record.id} has changed`),
    ];
  });
}
