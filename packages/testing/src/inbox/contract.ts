import type { Guarantees, Inbox } from "@reporthook/core";
import { assertObject, patiently, same } from "../assert.ts";
import { isWorkers } from "../runtime.ts";
import { actLog } from "./acts/act-log.ts";
import { acting } from "./acts/acting.ts";
import { announcing } from "./acts/announcing.ts";
import { askingAgain } from "./acts/asking-again.ts";
import { erasing } from "./acts/erasing.ts";
import { errors } from "./acts/errors.ts";
import { releasing } from "./acts/releasing.ts";
import { retaining } from "./acts/retaining.ts";
import { adding } from "./adding.ts";
import { claiming } from "./claiming.ts";
import { closing } from "./closing.ts";
import { context } from "./context.ts";
import { damaged } from "./damage.ts";
import { duplicates } from "./duplicates.ts";
import { facts } from "./facts.ts";
import { createInboxFixture, type Need } from "./fixture.ts";
import { handlingAtOnce } from "./handling-at-once.ts";
import { querying } from "./querying.ts";
import { recording } from "./recording.ts";
import { requests } from "./requests.ts";
import { keepingTime } from "./time/keeping-time.ts";
import type { StandingProcess } from "./time/standing-process.ts";
import { standingStill } from "./time/standing-still.ts";
import { time } from "./time/time.ts";

/** A store to be held to the contract of {@link Inbox}. */
export interface InboxContractOptions {
  /** Opens an empty, separate store; called for every case, which closes it. */
  readonly open: () => Inbox | Promise<Inbox>;
  /** The guarantees of the store: cases that it can't hold are skipped. */
  readonly guarantees: Guarantees;
  /** Milliseconds of real time after which something that should happen is given up: 10,000. */
  readonly patienceMs?: number;
  /** Makes unreadable what the store has of one delivery, or has it lost: without it those cases are skipped. */
  readonly damage?: (inbox: Inbox, id: string) => Promise<void>;
  /** `false` for a store without `requests`: those cases are skipped. */
  readonly keepsRequests?: boolean;
  /** Starts another process on the store that calls {@link standStillOn}: without it that case is skipped. */
  readonly standStill?: (inbox: Inbox) => Promise<StandingProcess>;
}

/** One case, to be handed to any test runner. */
export interface ContractCase {
  /** The promise, and the reason if it is skipped. */
  readonly name: string;
  /** Rejects when the promise is broken. */
  readonly run: () => Promise<void>;
  /** Why this store can't hold it; `run` then does nothing. */
  readonly skipped?: string;
}

const cases = [
  ...adding,
  ...duplicates,
  ...claiming,
  ...recording,
  ...handlingAtOnce,
  ...closing,
  ...releasing,
  ...acting,
  ...actLog,
  ...askingAgain,
  ...retaining,
  ...announcing,
  ...querying,
  ...facts,
  ...errors,
  ...requests,
  ...erasing,
  ...damaged,
  ...context,
  ...standingStill,
  ...time,
  ...keepingTime,
];

/**
 * Everything that an {@link Inbox} promises, as cases for any test runner.
 *
 * @throws TypeError when the options or their guarantees are no object
 * @example
 * const { guarantees } = memoryInbox();
 * for (const { name, run } of inboxContract({ open: memoryInbox, guarantees })) test(name, run);
 */
export function inboxContract(options: InboxContractOptions): readonly ContractCase[] {
  assertObject("inboxContract: options", options);
  const { open, guarantees, patienceMs = 10_000, damage, standStill } = options;
  assertObject("inboxContract: guarantees", guarantees);
  return cases.map(({ name, needs = [], run }) => {
    const skipped = needs.map((need) => missing(need, options)).find((why) => why !== null);
    if (skipped) return { name: `${name} (skipped: ${skipped})`, run: async () => {}, skipped };
    return {
      name,
      async run() {
        const inbox = await open();
        const fixture = createInboxFixture(inbox, patienceMs, { damage, standStill });
        try {
          same(inbox.guarantees, guarantees, "What the store guarantees");
          await patiently(run(fixture), "the end of the case", 2 * patienceMs);
        } catch (error) {
          await fixture.end().catch(() => {});
          throw error;
        }
        await fixture.end();
      },
    };
  });
}

function missing(
  need: Need,
  { guarantees, damage, standStill, keepsRequests }: InboxContractOptions,
): string | null {
  const { clock, finds, order, noticesReuse } = guarantees;
  if (need === "damage" && damage === undefined) return "how to damage a record is not told";
  if (need === "process" && standStill === undefined) {
    return "how to start another process is not told";
  }
  if (need === "requests" && keepsRequests === false) return "the store keeps no requests";
  if (need === "clock" && clock === "own") return "the store keeps its own time";
  if (need === "ticks" && isWorkers()) {
    return "where work is tied to requests, nobody watches the clock";
  }
  if (need === "order" && order === "roughly") return "the store keeps the order only roughly";
  if (need === "reuse" && !noticesReuse) return "the store does not notice reused signatures";
  if (need === "search" && finds === "parked") {
    return "the store finds events and reports only among what is parked or rejected";
  }
  return null;
}
