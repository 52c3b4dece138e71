import { hourKey, hourMs, oldHours } from "../inbox/hours.ts";
import { newId } from "../inbox/id.ts";
import type { OfReceiver } from "../inbox/receiver-inbox.ts";
import { isTiedToRequests, thisProcess } from "../lib/platform.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import type { LivedClock } from "../lib/time/lived-clock.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import { version } from "../lib/version.ts";
import type { EventCounters } from "./counters.ts";
import type { Lookout } from "./health.ts";
import type { NewsDesk } from "./news-desk.ts";
import { noteOf, validKey } from "./reports.ts";
import type { ProcessReport } from "./situation.ts";

const endMs = 1_000;
const signMs = 5_000;
const maxEveryMs = 60_000;
const virtualMs = 20;
/** How many signs there are from one look at the inbox to the next, and in a day. */
const looksEach = 6;
const signsADay = 17_280;

/** The sign of life that a process gives in its inbox, with its news, so that others tell the same. */
export class Presence {
  /** Called when the inbox can't keep it. */
  onError: ((error: unknown) => void) | undefined;
  /** Prunes the inbox before it is looked at. */
  prune: () => Promise<void> = async () => {};
  readonly #of: OfReceiver;
  readonly #clock: LivedClock;
  readonly desk: NewsDesk;
  /** Looks at the inbox meanwhile: who is to be forgotten, and when problems began. */
  lookout: Lookout | undefined;
  readonly #counters: EventCounters;
  #id: string | undefined;
  #since: number;
  #timer: unknown;
  #isKept = false;
  #keeping: Promise<void> | null = null;
  #isValidKept = false;
  #signs = 0;
  #signedAt = Number.NEGATIVE_INFINITY;
  #everyMs = signMs;

  constructor(
    of: OfReceiver & { readonly time: { readonly clock: LivedClock } },
    desk: NewsDesk,
    counters: EventCounters,
  ) {
    this.#of = of;
    this.#clock = of.time.clock;
    this.desk = desk;
    this.#counters = counters;
    this.#since = this.#clock.now();
  }

  /** The report of this process. */
  readonly report = (hasEnded = false): ProcessReport => ({
    id: this.#idNow(),
    ...thisProcess(),
    version,
    since: this.#since,
    at: this.#clock.now(),
    everyMs: this.#everyMs,
    hasEnded,
    news: this.desk.news,
  });

  /** Not made before it is needed: some hosts allow no randomness where a receiver is created. */
  #idNow(): string {
    this.#id ??= newId(this.#clock.wallNow());
    return this.#id;
  }

  /** Gives a sign at once, and each 5 seconds. Called once the time of the inbox is joined. */
  begin(): void {
    this.#since = this.#clock.now();
    this.desk.awakeSince = this.#since;
    this.#isKept = true;
    if (isTiedToRequests() || this.#clock.isReplaced) return;
    const sign = (): void => {
      const now = performance.now();
      // On a virtual clock that is far ahead of real time, fewer will do.
      const isVirtual = now - this.#signedAt < virtualMs;
      this.#everyMs = isVirtual ? Math.min(2 * this.#everyMs, maxEveryMs) : signMs;
      this.#signedAt = now;
      this.#timer = setUnrefTimeout(this.#clock, sign, this.#everyMs);
      this.#keeping ??= this.#keep(false)
        .catch((error: unknown) => this.onError?.(error))
        .finally(() => {
          this.#keeping = null;
        });
    };
    sign();
  }

  /** Gives the last sign. Never rejects, and takes a second at most. */
  async end(): Promise<void> {
    this.#clock.clearTimeout(this.#timer);
    if (!this.#isKept) return;
    const last = Promise.resolve(this.#keeping).then(() => this.#keep(true));
    await settlesWithin(this.#clock, endMs, last).catch(() => {});
  }

  async #keep(hasEnded: boolean): Promise<void> {
    const { inbox, name } = this.#of;
    // Not in the turn of a virtual clock, which may go on at once.
    await (!hasEnded && this.#signs++ % looksEach === 0 ? this.lookout?.health() : null);
    const own = this.report(hasEnded);
    const others = this.lookout?.reports.filter(({ id }) => id !== own.id) ?? [];
    const old = others.filter(({ at }) => own.at - at > hourMs);
    const notes = Object.assign(noteOf(own), ...old.map((report) => noteOf(report, true)));
    const hours = this.#counters.hourNotes(own.id, this.#clock.wallNow());
    const isNewlyValid = own.news.validAt !== null && !this.#isValidKept;
    await inbox.keepNotes(name, { ...notes, ...hours, ...(isNewlyValid && { [validKey]: "1" }) });
    this.#counters.kept(hours);
    this.#isValidKept ||= isNewlyValid;
    if (this.#signs % signsADay === 1) await this.#forgetHours();
  }

  async #forgetHours(): Promise<void> {
    const { inbox, name } = this.#of;
    const old = oldHours(await inbox.notes(name, hourKey), this.#clock.wallNow());
    if (old.length > 0)
      await inbox.keepNotes(name, Object.fromEntries(old.map((key) => [key, null])));
  }
}
