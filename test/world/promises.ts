import type { EntryDetails } from "@reporthook/core";
import { isAttempt, states } from "@reporthook/core/store";
import type { Run } from "./ledger.ts";
import type { Contents } from "./product/app.ts";
import { unfounded } from "./reasons.ts";
import { brokenReports, isRepeat } from "./reports/promises.ts";
import { type Notification, numberIn } from "./surroundings/notification.ts";
import type { World } from "./world.ts";

/** No attempt takes longer. */
const maxMs = 20_000;
const hourMs = 3_600_000;

/** A notification, and its entry in the inbox. */
interface Stored {
  readonly notification: Notification;
  readonly entry: EntryDetails;
}

/** Each promise that is broken, once everything has come to its end. */
export function brokenPromises(world: World, contents: Contents): string[] {
  const { entries, counts } = contents;
  const { ledger, setup } = world;
  const { discarded } = ledger.wishes;
  if (setup.options.ack === "handled") return ledger.notifications.flatMap(unhandledInline(world));
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const stored = entries.flatMap((entry) => storedOf(world, entry));
  return [
    ...ledger.notifications.flatMap((notification) => {
      const own = stored.filter((one) => one.notification === notification);
      // To a process that begins with a wrong clock, a day may have passed.
      const twice = setup.hasWrongClocks ? [] : ofNumber(notification, own, discarded);
      return [...ofAnswers(world, notification, byId), ...twice];
    }),
    ...stored.flatMap((one) => ofState(world, one).map((broken) => `${nameOf(one)} ${broken}`)),
    ...states.flatMap((state) => {
      const listed = entries.filter((entry) => entry.state === state).length;
      return counts[state] === listed ? [] : [`${counts[state]} counted, ${listed} ${state}`];
    }),
    ...brokenReports(world, contents, succeededIn(world)),
  ];
}

/** The deliveries whose handlers have all succeeded. */
function succeededIn(world: World): Set<string> {
  const { notifications, runs } = world.ledger;
  const all = notifications.flatMap((one) =>
    succeeded(
      world,
      one,
      runs.filter(({ n }) => n === one.n),
    ),
  );
  return new Set(all.map(({ id }) => id));
}

function nameOf({ notification: { n, kind }, entry: { id, state, reason } }: Stored): string {
  return `n=${n} (${kind}, ${id}, ${state}, ${reason?.code ?? "no reason"})`;
}

function storedOf({ ledger }: World, entry: EntryDetails): Stored[] {
  const n = numberIn(entry.body ?? "");
  const found =
    n === null
      ? ledger.notifications.find(({ ids }) => ids.has(entry.id))
      : ledger.notifications[n];
  return found === undefined ? [] : [{ notification: found, entry }];
}

/**
 * Acknowledged: it is there, or its retention is over. That may be so an hour after the start of a process whose clock says that
 * days have passed since the last one: until then none is over.
 */
function ofAnswers(
  world: World,
  notification: Notification,
  byId: ReadonlyMap<string, unknown>,
): string[] {
  const { n, kind, ids } = notification;
  const isOver = (id: string): boolean => {
    const runs = world.ledger.runs.filter((run) => run.id === id);
    return kind === "forged" || succeeded(world, notification, runs).length > 0;
  };
  const { discarded } = world.ledger.wishes;
  const gone = [...ids].filter((id) => !byId.has(id) && !discarded.has(id));
  const mayBeOver = world.setup.hasWrongClocks && world.time.elapsed > hourMs;
  const lost = mayBeOver ? gone.filter((id) => !isOver(id)) : gone;
  return lost.map((id) => `n=${n} (${kind}) was acknowledged as ${id} and is lost`);
}

/** The same delivery is stored once, unless a person has discarded it. */
function ofNumber(
  { n, kind, signature, ids }: Notification,
  stored: readonly Stored[],
  discarded: ReadonlyMap<string, unknown>,
): string[] {
  if (signature === null) return [];
  const known = [...ids, ...stored.map(({ entry }) => entry.id)];
  const all = new Set(known.filter((id) => !discarded.has(id)));
  return all.size > 1 ? [`n=${n} (${kind}) was stored as ${[...all].join(" and ")}`] : [];
}

function ofState(world: World, stored: Stored): string[] {
  const { notification, entry } = stored;
  const { ledger } = world;
  const runs = ledger.runs.filter(({ id }) => id === entry.id);
  return [
    ...ofEnd(world, stored, runs),
    ...ofSuccess(world, entry, runs),
    ...ofCompletion(world, entry, runs),
  ]
    .concat(notification.n === numberOf(runs, notification.n) ? [] : ["was handled as another"])
    .concat(unfounded(world, notification, entry, runs));
}

function numberOf(runs: readonly Run[], otherwise: number): number {
  return runs.find(({ n }) => n !== otherwise)?.n ?? otherwise;
}

/** Genuine: handled or parked. Forged: rejected. */
function ofEnd(world: World, { notification, entry }: Stored, runs: readonly Run[]): string[] {
  const { state } = entry;
  const { kind } = notification;
  if (state === "received" || state === "verified") return ["still waits"];
  if (kind === "unsigned") return state === "held" ? [] : ["should be held"];
  if (kind === "forged" || kind === "shunned") {
    const isUndecided = state === "held" && entry.reason?.code === "not_verified";
    const isRejected = state === "rejected" && kind === "forged";
    return isRejected || isUndecided ? [] : ["should be rejected"];
  }
  if (state === "rejected") return ["is no forgery"];
  if (state !== "handled" || isRepeat(entry)) return [];
  return succeeded(world, notification, runs).length > 0 ? [] : ["was not handled with success"];
}

/** A success that nothing came between is recorded. */
function ofSuccess(world: World, { id, state }: EntryDetails, runs: readonly Run[]): string[] {
  if (state === "handled") return [];
  const { ledger, apps } = world;
  const notification = ledger.notifications[runs[0]?.n ?? -1];
  if (notification === undefined) return [];
  const unrecorded = succeeded(world, notification, runs).filter(
    ({ process, startedAt }) =>
      apps.some(({ number }) => number === process) &&
      !ledger.leasesLost.some((at) => at >= startedAt - maxMs),
  );
  return unrecorded.length === 0 ? [] : [`${id} was handled with success, which is not recorded`];
}

/** Once it is recorded as handled, no attempt begins any more. */
function ofCompletion({ setup }: World, { history }: EntryDetails, runs: readonly Run[]): string[] {
  const first = setup.takesAll ? "any" : "known";
  const handled = history.filter(isAttempt).filter(({ outcome }) => outcome === "handled");
  const [done] = handled;
  if (done === undefined) return [];
  const completedAt = done.at.getTime() + done.ms;
  const again = setup.hasWrongClocks
    ? []
    : runs.filter((run) => run.handler === first && run.startedAt > completedAt);
  return [
    ...(handled.length > 1 ? [`was completed ${handled.length} times`] : []),
    ...(again.length > 0
      ? [`ran again in process ${again[0]?.process} after it was completed`]
      : []),
  ];
}

/** The last run of each attempt in which all handlers succeeded. */
function succeeded(world: World, { kind }: Notification, runs: readonly Run[]): Run[] {
  const isKnown = kind !== "unknown" && kind !== "garbled";
  const handlers = [...(world.setup.takesAll ? ["any"] : []), ...(isKnown ? ["known"] : [])];
  const last = handlers.at(-1);
  return runs.filter((run) => {
    if (run.handler !== last || !isSuccess(run)) return false;
    const before = runs.slice(0, runs.indexOf(run) + 1).filter((one) => isSameAttempt(one, run));
    return handlers.every((name) => isSuccess(before.findLast(({ handler }) => handler === name)));
  });
}

function isSameAttempt(one: Run, other: Run): boolean {
  return one.process === other.process && one.attempt === other.attempt;
}

function isSuccess(run: Run | undefined): boolean {
  return run?.ended?.how === "succeed" || run?.ended?.how === "dawdle";
}

/** `ack: "handled"`: acknowledged means handled. */
function unhandledInline(world: World): (notification: Notification) => string[] {
  return (notification) => {
    const { n, ids, kind } = notification;
    return [...ids].flatMap((id) => {
      const runs = world.ledger.runs.filter((run) => run.id === id);
      const isDone = kind === "unknown" || succeeded(world, notification, runs).length > 0;
      return isDone ? [] : [`n=${n} (${kind}) was acknowledged as ${id} and not handled`];
    });
  };
}
