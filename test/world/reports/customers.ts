import { trapOf } from "../faults.ts";
import type { Chance } from "../surroundings/chance.ts";
import { type Notification, newNotification } from "../surroundings/notification.ts";
import type { World } from "../world.ts";
import { beginCourse, beginForging } from "./course.ts";
import { keepLooking } from "./look.ts";
import type { Asked, Settling, Wish } from "./wish.ts";

const giveUpMs = 15_000;
/** The reasons of parked deliveries that people release or discard. */
const actedOn: readonly (string | undefined)[] = ["attempts_used_up", "do_not_retry", "expired"];

/** Plans which reports are asked for, how often, and what people do about them. */
export function planWishes(world: World, chance: Chance): void {
  const { setup, time, service } = world;
  if (setup.wishes === 0) return;
  service.desk.onCall = (call) => {
    beginCourse(world, chance, call);
    beginForging(world, chance, call);
  };
  for (let left = setup.wishes; left > 0; left--) {
    time.in(chance.below(setup.lengthMs), () => {
      const wish = newWish(world, chance);
      ask(world, chance, wish, 3, false);
      // Two at once, maybe in two processes.
      if (wish.key !== null && chance.yes(15)) ask(world, chance, wish, 0, false);
    });
  }
  for (let ms = 5_000; ms < 2 * setup.lengthMs; ms += chance.between(2_000, 15_000)) {
    time.in(ms, () => act(world, chance));
  }
  keepLooking(world, chance);
}

function newWish(world: World, chance: Chance): Wish {
  const { all } = world.ledger.wishes;
  const w = all.length;
  const wish: Wish = {
    w,
    key: chance.yes(80) ? `key ${w}` : null,
    asked: [],
    calls: [],
    context: chance.yes(90) ? { wish: w } : null,
    report: { domains: [`w${w}.example`] },
    overdueMs: chance.yes(90) ? chance.between(1_000, 40_000) : 200_000,
    overdue: standIn(world, chance),
  };
  all.push(wish);
  return wish;
}

/** The stand-in for a delivery that is no notification. */
function standIn(
  { ledger: { notifications: before }, time: { now } }: World,
  chance: Chance,
): Notification {
  const made = newNotification(chance, { n: before.length, kind: "told", now, before });
  before.push(made);
  return made;
}

/** Asks for a report; with a key it is asked for again, by any process, until there is an answer. */
function ask(world: World, chance: Chance, wish: Wish, tries: number, resend: boolean): void {
  const { time, ledger } = world;
  const { w, key, context, report, overdueMs } = wish;
  const asked: Asked = { resend, outcome: null };
  let isOver = false;
  const again = (mayResend: boolean): void => {
    if (isOver) return;
    isOver = true;
    if (key === null || tries === 0) return;
    const next = mayResend && chance.yes(40);
    time.in(chance.between(100, 8_000), () => ask(world, chance, wish, tries - 1, next));
  };
  time.in(giveUpMs, () => again(false));
  const app = world.anApp(chance);
  if (app === null) return;
  wish.asked.push(asked);
  app.call((receiver) => {
    const { busyUntil } = ledger.wishes;
    ledger.wishes.busyUntil = Math.max(busyUntil, time.now + overdueMs);
    if (chance.yes(30)) time.in(overdueMs + chance.below(1_000), () => end(world, chance));
    const given = {
      ...(context !== null && { context }),
      ...(key !== null && { idempotencyKey: key }),
      overdueMs,
      ...(resend && { resend }),
    };
    ledger.tell("ask", `w=${w}${resend ? " to be sent again" : ""}`);
    return receiver.reports.request(report, given).then(
      ({ id, answer }) => {
        ledger.tell("ask", `w=${w}: ${id}, ${answer?.status ?? "no answer yet"}`);
        asked.outcome = { id, status: answer?.status ?? null };
        if (answer === null) again(true);
        else isOver = true;
        followUp(world, chance, id);
      },
      (error: unknown) => {
        ledger.tell("ask", `w=${w}: ${String(error)}`);
        asked.outcome = { error };
        again(true);
      },
    );
  });
}

/** The process that is about to tell a request as overdue may end at any step. */
function end(world: World, chance: Chance): void {
  const { setup, time } = world;
  if (setup.store === "sqlite" && time.elapsed < setup.lengthMs) trapOf(world, chance, 30)();
}

/** Some wait for the end, and some find it out otherwise. */
function followUp(world: World, chance: Chance, id: string): void {
  if (chance.yes(40)) wait(world, chance, id);
  if (chance.yes(20)) settle(world, chance, id, chance.below(40_000));
  if (chance.yes(5)) settle(world, chance, id, chance.below(40_000));
}

function wait(world: World, chance: Chance, id: string): void {
  const timeoutMs = chance.between(1_000, 60_000);
  world.anApp(chance)?.call((receiver) =>
    receiver.reports.wait(id, { timeoutMs }).then(
      ({ id: found, state, settledAt }) => {
        if (found !== id || settledAt === null || state === "open" || state === "unconfirmed") {
          world.ledger.breaks(`${id} was waited for, and is ${state}`);
        }
      },
      (error: unknown) => world.ledger.tell("wait", `${id}: ${String(error)}`),
    ),
  );
}

function settle(world: World, chance: Chance, id: string, ms: number): void {
  const { ledger, time } = world;
  const status = chance.yes(80) ? "complete" : "internal_error";
  time.in(ms, () => {
    const notification = standIn(world, chance);
    const settling: Settling = { id, status, notification, hasChanged: null };
    ledger.wishes.settlings.push(settling);
    const body = { report: `n=${notification.n}` };
    world.anApp(chance)?.call((receiver) =>
      receiver.reports.settle(id, status, { body }).then(
        (hasChanged) => {
          settling.hasChanged = hasChanged;
          ledger.tell("settle", `${id} ${status}: ${hasChanged ? "changed" : "no change"}`);
        },
        (error: unknown) => ledger.tell("settle", `${id} ${status}: ${String(error)}`),
      ),
    );
  });
}

/** A person looks at the parked deliveries, and discards or releases one. */
function act(world: World, chance: Chance): void {
  const { discarded } = world.ledger.wishes;
  world.anApp(chance)?.call(async ({ inbox }) => {
    try {
      const parked = await inbox.list({ state: "parked" });
      const some = parked.filter((one) => one.requestId !== null);
      const own = some.filter(({ reason }) => actedOn.includes(reason?.code));
      if (own.length === 0) return;
      const { id, requestId } = chance.one(own);
      const isDiscard = chance.yes(60);
      world.ledger.tell("person", `${isDiscard ? "discards" : "releases"} ${id}`);
      if (isDiscard) discarded.set(id, requestId);
      await (isDiscard ? inbox.discard(id) : inbox.release(id));
    } catch (error) {
      world.ledger.tell("person", String(error));
    }
  });
}
