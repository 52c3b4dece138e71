import { withoutToken } from "../callback-urls/callback-url.ts";
import type { Outage } from "../client/authorizer.ts";
import type { Verdict } from "../client/client.ts";
import type { ReceiveResult } from "../http/answer.ts";
import type { Job, Outcome } from "../inbox/delivery.ts";
import { newId, timeOf } from "../inbox/id.ts";
import type { Pruned } from "../inbox/inbox.ts";
import { isAskedAgain } from "../inbox/transitions.ts";
import { thisProcess } from "../lib/platform.ts";
import { describe } from "../lib/text/describe.ts";
import type { ReceiverClock } from "../lib/time/lived-clock.ts";
import { version } from "../lib/version.ts";
import { EventCounters } from "./counters.ts";
import type { News } from "./news.ts";
import type { ProcessReport } from "./situation.ts";

const minuteMs = 60_000;
const hourMs = 3_600_000;
const never = Number.NEGATIVE_INFINITY;
const headersLength = 200;
/** Milliseconds after a notification that could not be stored in which the receiver is not ready, unless one was since. */
const notStoredMs = 30_000;
/** Seconds that belong together when verdicts are counted. */
const slotMs = 10_000;
const lostCertainly: readonly string[] = ["inbox_unavailable", "overloaded", "closing"];
const lostPerhaps: readonly string[] = ["not_handled", "body_timeout", "body_too_large"];

type Noted = Exclude<keyof News, "judged" | "vain" | "lost" | "fails" | "deleted">;

/** Collects the news of this process, and reports them: an instrument of its receiver. */
export class NewsDesk {
  /** The numbers of this process. */
  readonly counters: EventCounters = new EventCounters();
  /** The news that are told as they are noted. The lookout, which sees the inbox, notes what is open, and that nothing fails any more. */
  readonly noted: { -readonly [Name in Noted]: News[Name] };
  /** When this process was last seen awake, or began: others were not watched before. */
  awakeSince = 0;
  #id: string | undefined;
  #since = 0;
  /** Whether the inbox fails, as it says itself. */
  #saidToFail: News["fails"] = null;
  #notStored: { readonly since: number; readonly at: number; readonly error: string } | null = null;
  readonly #judged = new Map<number, number>();
  #vain: { readonly since: number; isSingle: boolean; readonly ids: Map<string, string> } | null =
    null;
  readonly #lost = new Map<number, [certain: number, doubtful: number]>();
  #lostSince = never;
  #certainAt = never;
  readonly #deleted = new Map<string, readonly [at: number, count: number]>();
  readonly #clock: ReceiverClock;

  /** `alerts` is whether this process sends them. */
  constructor(clock: ReceiverClock, alerts: boolean) {
    this.#clock = clock;
    this.noted = {
      ...{ service: "unknown", refusedSince: null, judgedAt: null, validAt: null, invalid: null },
      ...{ unsigned: null, failingSince: null, stoodStill: null, open: null, alerts, newest: null },
    };
    this.joined();
  }

  /** Called once the time of the inbox is joined. */
  joined(): void {
    this.#since = this.#clock.now();
    this.awakeSince = this.#since;
  }

  /** The report of this process. */
  report(hasEnded = false): ProcessReport {
    // Not made before it is needed: some hosts allow no randomness where a receiver is created.
    this.#id ??= newId(this.#clock.wallNow());
    const at = this.#clock.now();
    const { news } = this;
    return { id: this.#id, ...thisProcess(), version, since: this.#since, at, hasEnded, news };
  }

  /** Called with each verdict. */
  judged(job: Job, verdict: Verdict): void {
    const now = this.#clock.now();
    const slot = Math.floor(now / slotMs);
    this.#judged.set(slot, (this.#judged.get(slot) ?? 0) + 1);
    if (this.#judged.size > 12) forget(this.#judged, slotMs, now - minuteMs);
    this.noted.judgedAt = now;
    this.#vain = null;
    this.noted.refusedSince = null;
    this.noted.service = "ok";
    if (verdict === "valid") this.noted.validAt = now;
    if (verdict !== "invalid") {
      this.noted.invalid = null;
      return;
    }
    if (isAskedAgain(job)) return;
    const hasToken =
      job.requestId !== null || (job.context !== null && job.context !== withoutToken);
    const before = this.noted.invalid ?? { since: now, count: 0, latest: [], hasToken: false };
    this.noted.invalid = {
      since: before.since,
      count: before.count + 1,
      latest: [...before.latest, now].slice(-5),
      hasToken: before.hasToken || hasToken,
    };
  }

  /** Called when a call brought no verdict. */
  noVerdict({ id, signature }: Job, outage: Outage | null, hasAnswered: boolean): void {
    const now = this.#clock.now();
    this.#vain ??= { since: now, isSingle: true, ids: new Map() };
    const { ids } = this.#vain;
    if (outage !== null) this.#vain.isSingle = false;
    if (ids.size < 5 && signature !== null && !ids.has(signature)) ids.set(signature, id);
    if (outage === "unauthorized") {
      this.noted.refusedSince ??= now;
      this.noted.service = "refused";
    } else if (outage === "unavailable") {
      this.noted.service = hasAnswered ? "failing" : "unreachable";
    } else if (now - (this.noted.judgedAt ?? never) >= minuteMs) {
      // A stranger can cause such answers: once there were verdicts, a minute without any tells.
      this.noted.service = "failing";
    }
  }

  /** Called with each result: of the refused ones, some are lost. */
  answered(result: ReceiveResult, isSigned: () => boolean, _ms: number, id: string): void {
    if (!("refused" in result)) {
      const { newest } = this.noted;
      if (result.status === "accepted") this.noted.newest = Math.max(timeOf(id), newest ?? 0);
      return;
    }
    const { refused: code, isOurs } = result;
    if (!lostCertainly.includes(code) && !lostPerhaps.includes(code)) return;
    if (isOurs !== true && !isSigned()) return;
    const isCertain = isOurs ?? lostCertainly.includes(code);
    const now = this.#clock.now();
    this.#forgetLost(now);
    if (this.#lost.size === 0) this.#lostSince = now;
    const minute = Math.floor(now / minuteMs);
    const [certain, doubtful] = this.#lost.get(minute) ?? [0, 0];
    this.#lost.set(minute, isCertain ? [certain + 1, doubtful] : [certain, doubtful + 1]);
    if (isCertain) this.#certainAt = now;
  }

  /** Called with the names of the headers of a notification without a signature. */
  unsigned(headers: readonly string[]): void {
    const now = this.#clock.now();
    const { since = now, at = now } = this.noted.unsigned ?? {};
    const names = headers.join(" ").slice(0, headersLength).split(" ");
    this.noted.unsigned = { since: now - at > hourMs ? now : since, at: now, headers: names };
  }

  /** Called with each outcome. */
  settled({ stage }: Job, { to }: Outcome): void {
    if (stage === "handle" && to === "retry") this.noted.failingSince ??= this.#clock.now();
  }

  /** Called when one could not be stored. */
  notStored(error: unknown): void {
    const now = this.#clock.now();
    const known = this.#notStored;
    const since = known !== null && now - known.at < notStoredMs ? known.since : now;
    this.#notStored = { since, at: now, error: describe(error).slice(0, 300) };
  }

  /** Called when one was stored. */
  stored(): void {
    this.#notStored = null;
  }

  /** Called when this process stood still. */
  stoodStill(ms: number): void {
    this.awakeSince = this.#clock.now();
    this.noted.stoodStill = { at: this.awakeSince, ms };
  }

  /** Called with what retention did: it has deleted these parked ones. */
  pruned({ parked, unsigned, madeRoom }: Pruned): void {
    const now = this.#clock.now();
    for (const deleted of [parked, unsigned, madeRoom]) {
      for (const [reason, number] of Object.entries(deleted)) {
        const [at = never, before = 0] = this.#deleted.get(reason) ?? [];
        this.#deleted.set(reason, [now, now - at < hourMs ? before + number : number]);
      }
    }
  }

  /** Takes note of what the inbox says about itself: an error, or null if it works. */
  inboxSays(error: string | null): void {
    const since = this.#saidToFail?.since ?? this.#clock.now();
    this.#saidToFail = error === null ? null : { since, error };
  }

  /** A minute that began an hour ago is over. */
  #forgetLost(now: number): void {
    forget(this.#lost, minuteMs, now - hourMs + minuteMs);
  }

  /** The news at this moment. */
  get news(): News {
    const now = this.#clock.now();
    forget(this.#judged, slotMs, now - minuteMs);
    this.#forgetLost(now);
    const vain = this.#vain;
    const failed = this.#notStored;
    const isFull = failed !== null && now - failed.at < notStoredMs;
    const minutes = [...this.#lost].map(([minute, counts]) => [minute, ...counts] as const);
    const lost = { since: this.#lostSince, certainAt: this.#certainAt, minutes };
    return {
      ...this.noted,
      judged: [...this.#judged.values()].reduce((sum, number) => sum + number, 0),
      vain: vain && { since: vain.since, isSingle: vain.isSingle, ids: [...vain.ids.values()] },
      lost: minutes.length === 0 ? null : lost,
      fails: isFull ? failed : this.#saidToFail,
      deleted: Object.fromEntries([...this.#deleted].filter(([, [at]]) => now - at < hourMs)),
    };
  }
}

/** Forgets the slots of a count, each of so many milliseconds, that end before a moment. */
function forget(count: Map<number, unknown>, ofMs: number, before: number): void {
  for (const slot of count.keys()) if ((slot + 1) * ofMs <= before) count.delete(slot);
}
