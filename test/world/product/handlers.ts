import type * as Core from "@reporthook/core";
import type { Run } from "../ledger.ts";
import { numberOf, wrongIn } from "../reports/event.ts";
import { type Deed, isGenuine } from "../surroundings/notification.ts";
import type { Surroundings } from "../surroundings/surroundings.ts";
import type { Realm } from "./realm.ts";

/** Where a handler runs. */
interface Place {
  readonly realm: Realm;
  readonly process: number;
  readonly exported: Pick<typeof Core, "DoNotRetry" | "RetryAfter">;
}

type AnyHandler = (event: Core.EventOf, context: Core.HandlerContext) => Promise<void>;

/** Makes handlers that do what their notification wants them to, and put it down in the ledger. */
export function handlerOf(around: Surroundings, place: Place): (name: string) => AnyHandler {
  const { ledger, time, chance } = around;
  const { realm, process } = place;

  return (handler) =>
    async (event, { attempt }) => {
      const { id, verification } = event;
      const n = numberOf(ledger, event);
      const notification = ledger.notifications[n];
      // Of a process that is gone nothing goes on.
      if (!realm.alive || notification === undefined) return new Promise(() => {});
      const run: Run = { n, id, handler, attempt, process, startedAt: time.now, ended: null };
      const before = ledger.runs.filter((one) => one.n === n && one.handler === handler).length;
      ledger.runs.push(run);
      const isTest = notification.kind === "test" && verification === "unsigned";
      if (!isGenuine(notification) && !isTest) {
        ledger.breaks(`n=${n} (${notification.kind}) reached a handler`);
      }
      for (const broken of wrongIn(event, notification, ledger.wishes)) ledger.breaks(broken);
      const { deeds } = notification;
      const has = (handler === "any") === (n % 2 === 0) || !around.setup.takesAll;
      const deed = has ? (deeds[Math.min(before, deeds.length - 1)] ?? "succeed") : "succeed";
      const what = `n=${n} ${id} ${handler} attempt ${attempt}`;
      ledger.tell("handler", `${what}: ${deed}`);
      const ms = msOf(deed);
      if (ms > 0) await new Promise<void>((resolve) => time.in(ms, resolve, realm));
      if (!realm.alive) return new Promise(() => {});
      run.ended = { at: time.now, how: deed };
      ledger.tell("handler", `${what}: done`);
      fail(deed);
    };

  function msOf(deed: Deed): number {
    if (deed === "hang") return 1e9;
    if (deed === "dawdle") return chance.between(500, 15_000);
    return chance.yes(30) ? 0 : chance.between(1, 80);
  }

  function fail(deed: Deed): void {
    if (deed === "throw") throw new Error("The handler failed");
    if (deed === "do-not-retry") throw new place.exported.DoNotRetry("told so");
    if (deed === "retry-after") throw new place.exported.RetryAfter(chance.between(100, 20_000));
  }
}
