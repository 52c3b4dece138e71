import { hourKey, oldHours } from "../inbox/facts/hours.ts";
import type { ReceiverView } from "../inbox/receiver-inbox.ts";
import { isTiedToRequests } from "../lib/platform.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { realClock } from "../lib/time/real-timers.ts";
import { signMs, slowMs, standstillMs } from "../lib/time/standstill.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import type { Lookout } from "./health.ts";
import { lifeSignMs, noteOf, outdatedIn } from "./process-report.ts";
import type { ProcessState } from "./process-state.ts";

const endMs = 1_000;
/** How many signs there are from one look at the inbox to the next, in an hour and in a day. */
const looksEach = 6;
const signsAnHour = 720;
const signsADay = 17_280;

/** The sign of life that a process gives in its inbox, with its report, so that others tell the same. */
export class Presence {
  readonly #receiver: ReceiverView;
  readonly #own: ProcessState;
  readonly #lookout: Lookout;
  #onError = (_error: unknown): void => {};
  #timer: unknown;
  #isPresent = false;
  #keeping: Promise<void> | null = null;
  #signs = 0;
  /** When the next sign was planned, by real time. */
  #plannedAt = realClock.now();

  /** `lookout` looks at the inbox meanwhile: who is to be forgotten, and when problems began. */
  constructor(receiver: ReceiverView, own: ProcessState, lookout: Lookout) {
    this.#receiver = receiver;
    this.#own = own;
    this.#lookout = lookout;
  }

  /** Gives a sign at once, and each 5 seconds; `onError` is called when the inbox can't keep it. Called once its time is joined. */
  begin(onError: (error: unknown) => void): void {
    this.#onError = onError;
    this.#own.joined();
    this.#isPresent = true;
    this.#plannedAt = realClock.now();
    if (!isTiedToRequests() && !this.#receiver.clock.isReplaced) this.#sign();
  }

  /** Gives the last sign. Never rejects, and takes a second at most. */
  async end(): Promise<void> {
    const { clock } = this.#receiver;
    clock.clearTimeout(this.#timer);
    if (!this.#isPresent) return;
    this.#isPresent = false;
    const last = Promise.resolve(this.#keeping).then(() => this.#keep(true));
    await settlesWithin(clock, endMs, last).catch(() => {});
  }

  readonly #sign = (): void => {
    // It stood still, which is not told yet: a sign before that would say that all is well.
    if (realClock.now() - this.#plannedAt > lifeSignMs + standstillMs) {
      this.#planSign(slowMs + 2 * signMs);
      return;
    }
    const { clock } = this.#receiver;
    const since = clock.now();
    this.#keeping = this.#keep(false)
      .catch((error: unknown) => this.#onError(error))
      .finally(() => {
        // Only now: on a virtual clock that leaps, one sign will do.
        if (this.#isPresent) this.#planSign(Math.max(0, since + lifeSignMs - clock.now()));
      });
  };

  #planSign(ms: number): void {
    this.#plannedAt = realClock.now();
    this.#timer = setUnrefTimeout(this.#receiver.clock, this.#sign, ms);
  }

  async #keep(hasEnded: boolean): Promise<void> {
    const { clock, inbox, name } = this.#receiver;
    // Not in the turn of a virtual clock, which may go on at once.
    await (!hasEnded && this.#signs++ % looksEach === 0 ? this.#lookout.health() : null);
    const report = this.#own.report(hasEnded);
    const old = outdatedIn(this.#lookout.reports, report.at);
    const notes = Object.assign(noteOf(report), ...old.map((one) => noteOf(one, true)));
    const hours = this.#own.counters.hourNotes(report.id, clock.wallNow());
    await inbox.keepNotes(name, { ...notes, ...hours });
    this.#own.counters.kept(hours);
    // Not in the first hour: nobody knows the clock.
    if (this.#signs % signsADay === signsAnHour + 1) await this.#forgetHours();
  }

  async #forgetHours(): Promise<void> {
    const { clock, inbox, name } = this.#receiver;
    const old = oldHours(await inbox.notes(name, hourKey), clock.wallNow());
    await inbox.keepNotes(name, Object.fromEntries(old.map((key) => [key, null])));
  }
}
