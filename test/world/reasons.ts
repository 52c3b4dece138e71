import type { EntryDetails } from "@reporthook/core";
import { isAttempt } from "@reporthook/core/store";
import type { Run } from "./ledger.ts";
import { attempts } from "./setup.ts";
import type { Notification } from "./surroundings/notification.ts";
import type { World } from "./world.ts";

const lifetimeMs = 300_000;
/** After this time without faults a receiver must have asked before a signature expires. */
const calmMs = 100_000;
const maxStarts = 5;
const oddAnswers = 3;
/** The statuses that may concern one signature alone. */
const oddOnes: readonly number[] = [400, 401, 403, 404, 422];
const patienceMs = 3_590_000;

/** Why a reason for parking is not true, by what really happened. */
export function unfounded(
  world: World,
  notification: Notification,
  entry: EntryDetails,
  runs: readonly Run[],
): string[] {
  const { ledger, setup } = world;
  const { kind, signature, triggeredAt } = notification;
  // The entry has the time of a clock, which may have been wrong.
  const receivedAt = setup.hasWrongClocks
    ? (notification.acknowledgedAt ?? Number.POSITIVE_INFINITY)
    : entry.receivedAt.getTime();
  const answers = ledger.verdicts.filter((one) => one.signature === signature);
  const failures = runs.filter(({ ended }) => ended?.how !== "succeed" && ended?.how !== "dawdle");
  const is = (true_: boolean, otherwise: string): string[] => (true_ ? [] : [otherwise]);
  switch (entry.reason?.code) {
    case undefined:
      return is(entry.state === "handled", "has no reason");
    case "unsigned":
      return is(kind === "unsigned", "was signed");
    case "invalid_signature":
      return is(
        answers.some(({ status }) => status === 406),
        "was not called forged",
      );
    case "expired": {
      const calm = ledger.calmWithin(receivedAt, triggeredAt + lifetimeMs);
      const isSaid = answers.some(({ status }) => status === 424);
      return is(isSaid && calm < calmMs, `expired with ${calm} ms of calm in which to ask`);
    }
    case "not_verified": {
      const odd = answers.filter(({ status }) => oddOnes.includes(status ?? 0)).length;
      const attempts = entry.history.filter(isAttempt);
      const asked = attempts.filter(({ stage }) => stage === "verify").at(-1);
      const patient = (asked?.at.getTime() ?? 0) - receivedAt >= patienceMs;
      return is(odd >= oddAnswers || patient || setup.hasWrongClocks, "was given up too early");
    }
    case "no_token":
      return ["needs no token"];
    case "no_handler":
      return is(kind === "unknown" && !setup.takesAll, "has a handler");
    case "not_understood":
      return is(kind === "garbled", "is a JSON object");
    case "reused_signature": {
      const others = ledger.notifications.filter((one) => one.signature === signature);
      return is(others.length > 1, "has a signature of its own");
    }
    case "do_not_retry":
      return is(
        runs.some(({ ended }) => ended?.how === "do-not-retry"),
        "was not told so",
      );
    case "attempts_used_up":
      return is(failures.length >= attempts, `had ${failures.length} attempts`);
    case "poison":
      return is(ledger.deaths >= maxStarts, `${ledger.deaths} deaths are no poison`);
    case "schema_mismatch":
      return ["has no schema"];
    case "erased":
      return ["was not to be erased"];
  }
}
