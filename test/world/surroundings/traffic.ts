import type { App } from "../product/app.ts";
import type { World } from "../world.ts";
import type { Chance } from "./chance.ts";
import { type Deed, type Notification, newNotification } from "./notification.ts";

const giveUpMs = 5_000;
const neverMs = 60_000;

/** Plans which notifications come, and when: late, out of order, more than once. */
export function planTraffic(world: World, chance: Chance): void {
  const { lengthMs, notifications, kinds } = world.setup;
  for (let left = notifications; left > 0; left--) {
    const at = chance.below(lengthMs);
    const kind = chance.weighed(kinds);
    const again = chance.yes(20) ? [chance.yes(50) ? chance.below(3) : chance.below(20_000)] : [];
    const delayMs = chance.yes(10) ? chance.below(4_000) : chance.between(1, 60);
    world.time.in(at, () => {
      const { notifications: before } = world.ledger;
      const now = world.time.now;
      const notification = newNotification(chance, { n: before.length, kind, now, before });
      before.push(notification);
      for (const ms of [0, ...again])
        world.time.in(delayMs + ms, () => send(world, chance, notification, 2));
    });
  }
}

/** Plans a stranger's notifications in some worlds: the service answers the signature of each with some trouble. */
export function planStrangers(world: World, chance: Chance): void {
  if (!chance.yes(30)) return;
  for (let left = chance.between(3, 30); left > 0; left--) {
    world.time.in(chance.below(world.setup.lengthMs), () => {
      const { notifications: before } = world.ledger;
      const now = world.time.now;
      const notification = newNotification(chance, {
        n: before.length,
        kind: "shunned",
        now,
        before,
      });
      before.push(notification);
      send(world, chance, notification, 0);
    });
  }
}

/** Sends one to a process that is to be acknowledged and handled, for nothing is wrong. */
export function sendInCalm({ ledger, time }: World, chance: Chance, app: App): void {
  const before = ledger.notifications;
  const made = newNotification(chance, {
    n: before.length,
    kind: "genuine",
    now: time.now,
    before,
  });
  const notification = { ...made, deeds: ["succeed"] as Deed[] };
  before.push(notification);
  app.receive(notification, 0, (status) => {
    if (status !== 200) ledger.breaks(`n=${notification.n} was answered ${status} in calm`);
  });
}

/** Sends it; without a 2xx it may be sent again, so many times. */
export function send(
  world: World,
  chance: Chance,
  notification: Notification,
  retries: number,
): void {
  let isAnswered = false;
  const again = (): void => {
    if (retries === 0 || chance.yes(30)) return;
    world.time.in(chance.between(200, 8_000), () => send(world, chance, notification, retries - 1));
  };
  world.time.in(giveUpMs, () => {
    if (!isAnswered) again();
  });
  const app = world.anApp(chance);
  if (app === null) return;
  const bodyMs = chance.yes(92) ? 0 : chance.yes(20) ? neverMs : chance.between(1, 1_500);
  app.receive(notification, bodyMs, (status) => {
    isAnswered = true;
    if (status >= 400) again();
  });
}
