import { withoutToken } from "../callback-urls/callback-url.ts";
import type { Outage } from "../client/authorizer.ts";
import type { Verdict } from "../client/client.ts";
import type { ReceiveResult } from "../http/answer.ts";
import type { Job, Outcome } from "../inbox/delivery.ts";
import { newId, timeOf } from "../inbox/id.ts";
import { retryStateOf } from "../inbox/transitions.ts";
import { thisProcess } from "../lib/platform.ts";
import { describe } from "../lib/text/describe.ts";
import type { LivedClock } from "../lib/time/lived-clock.ts";
import { hourMs, minuteMs } from "../lib/time/units.ts";
import { version } from "../lib/version.ts";
import { EventCounters } from "./counters.ts";
import type { ProcessReport } from "./process-report.ts";

const never = Number.NEGATIVE_INFINITY;
const headersLength = 200;
const errorLength = 300;
/** Milliseconds after a notification that could not be stored in which the receiver is not ready, unless one was since. */
const notStoredMs = 30_000;
/** Milliseconds that belong together when verdicts are counted. */
const slotMs = 10_000;
const lostCertainly: readonly string[] = ["inbox_unavailable", "overloaded", "closing"];
const lostPerhaps: readonly string[] = ["not_handled", "body_timeout", "body_too_large"];

/** The parts of a report that are noted as they come, not found out when it is made. */
type Noted = Omit<
  { -readonly [Name in keyof ProcessReport]: ProcessReport[Name] },
  "host" | "pid" | "at" | "hasEnded" | "judged"
>;

/** Takes note of what this process knows alone, and reports it: an instrument of its receiver, called as `Instrumentation` says. */
export class ProcessState {
  readonly counters: EventCounters = new EventCounters();
  /** When this process was last seen awake, or began: others were not watched before. */
  awakeSince = 0;
  readonly #noted: Noted;
  /** By signature, of the calls since the last verdict. */
  readonly #vainIds = new Map<string, string>();
  readonly #judged = new Map<number, number>();
  /** By running time: lived time leaps when it is joined, which is once the inbox can be opened. */
  #notStoredAt = never;
  readonly #clock: LivedClock;

  /** `alerts` is whether this process sends them. */
  constructor(clock: LivedClock, alerts: boolean) {
    this.#clock = clock;
    this.#noted = { id: "", version, since: 0, alerts, service: "unknown" };
    this.joined();
  }

  /** Called once the time of the inbox is joined. */
  joined(): void {
    this.awakeSince = this.#clock.now();
    this.#noted.since = this.awakeSince;
  }

  report(hasEnded = false): ProcessReport {
    const noted = this.#noted;
    const at = this.#clock.now();
    // Not made before it is needed: some hosts allow no randomness where a receiver is created.
    noted.id ||= newId(this.#clock.wallNow());
    this.#forgetJudged(at);
    const judged = [...this.#judged.values()].reduce((sum, number) => sum + number, 0);
    const isOver = this.#clock.running() - this.#notStoredAt >= notStoredMs;
    const fails = isOver ? undefined : noted.fails;
    return { ...noted, ...thisProcess(), at, hasEnded, judged, lost: this.#lost(at), fails };
  }

  judged(job: Job, verdict: Verdict): void {
    const noted = this.#noted;
    const now = this.#clock.now();
    const slot = Math.floor(now / slotMs);
    this.#judged.set(slot, (this.#judged.get(slot) ?? 0) + 1);
    if (this.#judged.size > 12) this.#forgetJudged(now);
    noted.judgedAt = now;
    noted.vain = undefined;
    this.#vainIds.clear();
    noted.refusedSince = undefined;
    noted.service = "ok";
    if (verdict === "valid") noted.validAt = now;
    if (verdict !== "invalid") {
      noted.invalid = undefined;
      return;
    }
    if (retryStateOf(job).askedAgain) return;
    const isOurs = job.requestId !== null || (job.context !== null && job.context !== withoutToken);
    const { since = now, count = 0, latest = [], hasToken = false } = noted.invalid ?? {};
    noted.invalid = {
      since,
      count: count + 1,
      latest: [...latest, now].slice(-5),
      hasToken: hasToken || isOurs,
    };
  }

  noVerdict(
    { id, signature }: Job,
    outage: Outage | null,
    hasAnswered: boolean,
    error: string,
  ): void {
    const noted = this.#noted;
    const now = this.#clock.now();
    const { since = now, isSingle = true } = noted.vain ?? {};
    const ids = this.#vainIds;
    if (ids.size < 5 && signature !== null && !ids.has(signature)) ids.set(signature, id);
    noted.vain = {
      since,
      at: now,
      isSingle: isSingle && outage === null,
      ids: [...ids.values()],
      error: error.slice(0, errorLength),
    };
    if (outage === "unauthorized") {
      noted.refusedSince ??= now;
      noted.service = "refused";
    } else if (outage === "unavailable" || now - (noted.judgedAt ?? never) >= minuteMs) {
      // A stranger can cause other answers: once there were verdicts, a minute without any tells.
      noted.service = hasAnswered ? "failing" : "unreachable";
    }
  }

  /** Of the refused ones, some are lost. */
  answered(result: ReceiveResult, isSigned: boolean, _ms: number, id: string): void {
    const noted = this.#noted;
    if (!("refused" in result)) {
      if (result.status === "accepted") noted.newest = Math.max(timeOf(id), noted.newest ?? 0);
      return;
    }
    const { refused: code, isOurs } = result;
    if (!lostCertainly.includes(code) && !lostPerhaps.includes(code)) return;
    if (isOurs !== true && !isSigned) return;
    // A stranger's signature alone may bring no verdict; that the service does not answer is no stranger's doing.
    const isOutage = code === "not_handled" && noted.vain?.isSingle === false;
    const isCertain = isOurs ?? (isOutage || lostCertainly.includes(code));
    // As #notStoredAt.
    const now = this.#clock.running();
    const minute = Math.floor(now / minuteMs);
    const { since = now, certainAt = never, minutes = [] } = this.#lostAt(now) ?? {};
    const [, certain, doubtful] = minutes.find(([one]) => one === minute) ?? [minute, 0, 0];
    noted.lost = {
      since,
      certainAt: isCertain ? now : certainAt,
      minutes: [
        ...minutes.filter(([one]) => one !== minute),
        isCertain ? [minute, certain + 1, doubtful] : [minute, certain, doubtful + 1],
      ],
    };
  }

  unsigned(headers: readonly string[]): void {
    const now = this.#clock.now();
    const { since = now, at = now } = this.#noted.unsigned ?? {};
    const names = headers.join(" ").slice(0, headersLength).split(" ");
    this.#noted.unsigned = { since: now - at > hourMs ? now : since, at: now, headers: names };
  }

  settled({ stage }: Job, { to }: Outcome): void {
    if (stage === "handle" && to === "retry") this.#noted.failingSince ??= this.#clock.now();
  }

  notStored(error: unknown): void {
    const now = this.#clock.now();
    const running = this.#clock.running();
    const isFirst = running - this.#notStoredAt >= notStoredMs;
    const since = isFirst ? now : (this.#noted.fails?.since ?? now);
    this.#noted.fails = { since, error: describe(error) };
    this.#notStoredAt = running;
  }

  stored(): void {
    this.#noted.fails = undefined;
  }

  stoodStill(ms: number): void {
    this.awakeSince = this.#clock.now();
    this.#noted.stoodStill = { at: this.awakeSince, ms };
  }

  /** Called with the problems that were seen, each with its beginning, and when a look last saw that no delivery had failed. */
  looked(open: Readonly<Record<string, number>>, noneFailedAt: number): void {
    this.#noted.open = open;
    if ((this.#noted.failingSince ?? 0) < noneFailedAt) this.#noted.failingSince = undefined;
  }

  /** The notifications that were turned away, by lived time. */
  #lost(at: number): ProcessReport["lost"] {
    const running = this.#clock.running();
    const lost = this.#lostAt(running);
    if (lost === undefined) return undefined;
    const ms = at - running;
    return {
      since: lost.since + ms,
      certainAt: lost.certainAt + ms,
      minutes: lost.minutes.map(([minute, ...counts]) => [minute + ms / minuteMs, ...counts]),
    };
  }

  /** A minute that began an hour ago is over. */
  #lostAt(now: number): ProcessReport["lost"] {
    const { lost } = this.#noted;
    const minutes = lost?.minutes.filter(([minute]) => minute * minuteMs > now - hourMs) ?? [];
    return lost && minutes.length > 0 ? { ...lost, minutes } : undefined;
  }

  #forgetJudged(now: number): void {
    for (const slot of this.#judged.keys()) {
      if ((slot + 1) * slotMs <= now - minuteMs) this.#judged.delete(slot);
    }
  }
}
