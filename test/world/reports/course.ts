import type { Chance } from "../surroundings/chance.ts";
import { type Kind, type Notification, newNotification } from "../surroundings/notification.ts";
import { send } from "../surroundings/traffic.ts";
import type { World } from "../world.ts";
import type { Call } from "./wish.ts";

/** So long a notification may be sent again. */
const retriedMs = 30_000;

type Status = "processing" | "complete" | "internal_error";

const kinds = { genuine: 93, reused: 4, late: 3 };
const strangers = { forged: 45, unsigned: 35, genuine: 20 };

/** The service makes a report that it has taken, and notifies: it drops a tenth, delays, repeats and reorders. */
export function beginCourse(world: World, chance: Chance, call: Call): void {
  if (!call.isTaken) return;
  const end = chance.yes(80) ? "complete" : "internal_error";
  const reportMs = chance.yes(70) ? chance.between(100, 15_000) : chance.between(15_000, 90_000);
  notify(world, chance, call, "processing", chance.yes(70) ? chance.below(3_000) : 2 * reportMs);
  notify(world, chance, call, end, reportMs);
  if (chance.yes(4)) notify(world, chance, call, "internal_error", chance.below(90_000));
}

/** A stranger knows the address of a report, taken or not, and sends made-up results to it. */
export function beginForging(world: World, chance: Chance, call: Call): void {
  for (let left = chance.below(4); left > 0; left--) {
    const ms = chance.below(60_000);
    const status = chance.one<Status>(["processing", "complete", "internal_error"]);
    at(world, ms, () => stranger(world, chance, call, status));
  }
}

/** A status is told: not at all, once, again as it is, or again with another signature. */
function notify(world: World, chance: Chance, call: Call, status: Status, ms: number): void {
  if (chance.yes(10)) return;
  const make = (): Notification => newOf(world, chance, chance.weighed(kinds), { ...call, status });
  const again = chance.yes(30) ? chance.below(20_000) : null;
  at(world, ms, () => {
    const notification = make();
    send(world, chance, notification, chance.below(3));
    if (again === null) return;
    const isSame = chance.yes(40);
    at(world, again, () => send(world, chance, isSame ? notification : make(), 1));
  });
}

/** Sends a stranger's notification; a genuine one goes to an address that was never made. */
function stranger(world: World, chance: Chance, call: Call, status: Status): void {
  const kind = chance.weighed(strangers);
  const about =
    kind === "genuine"
      ? { id: null, url: call.url.replace(/.$/, (last) => (last === "A" ? "Q" : "A")), status }
      : { ...call, status };
  send(world, chance, newOf(world, chance, kind, about), 0);
}

function newOf(
  { ledger, time: { now } }: World,
  chance: Chance,
  kind: Kind,
  about: NonNullable<Notification["about"]>,
): Notification {
  const { notifications: before } = ledger;
  const made = newNotification(chance, { n: before.length, kind, now, before, about });
  before.push(made);
  return made;
}

/** Plans something that its world waits for. */
function at({ ledger: { wishes }, time }: World, ms: number, run: () => void): void {
  wishes.busyUntil = Math.max(wishes.busyUntil, time.now + ms + retriedMs);
  time.in(ms, run);
}
