import { type Problem, type ProblemKind, problemKey } from "../health/problem.ts";
import { toldKey } from "../health/reports.ts";
import { livingOf } from "../health/situation.ts";
import { type LoggedAct, maxActs } from "../inbox/acts/act-log.ts";
import type { Job, Outcome } from "../inbox/delivery.ts";
import { type Logger, oncePerMinute } from "../lib/log.ts";
import { tryGet } from "../lib/safe-get.ts";
import { describe } from "../lib/text/describe.ts";
import { printable } from "../lib/text/printable.ts";
import { redactAddresses } from "../lib/text/redact.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { settlesWithin, withTimeout } from "../lib/time/timeout.ts";
import { messages } from "../log-messages.ts";
import type { Instrumentation, Watched } from "../observe/instrumentation.ts";
import { type Alert, firing, over, type Told } from "./alert.ts";

/** Options of `alerts`. */
export interface AlertsOptions {
  /** Delivers a message. It has failed if it throws, rejects, or takes over 10 seconds: then `signal` is aborted. */
  readonly send: (alert: Alert, context: { readonly signal: AbortSignal }) => unknown;
  /** Which problems: all. */
  readonly on?: readonly ProblemKind[] | undefined;
}

const everyMs = 30_000;
/** A burst of parked deliveries is one message. */
const soonMs = 5_000;
const sendMs = 10_000;
const keepMs = 4_000;
const endMs = 2_000;
const maxUnsettled = 10;

type AlertSettings = { readonly [Name in keyof AlertsOptions]-?: NonNullable<AlertsOptions[Name]> };
type ToldByKey = Readonly<Record<string, Told>>;

/** Compares the problems of a receiver with those that were told, again and again, and has the difference sent. */
export class AlertWatcher implements Instrumentation {
  readonly #options: AlertSettings;
  readonly #watched: Watched;
  readonly #failed: Logger["error"];
  readonly #tick: () => void;
  /** As it is kept in the inbox, with what could not be kept there. */
  #told: ToldByKey = {};
  #isUnkept = false;
  #timer: unknown;
  #timerAt = 0;
  #looking: Promise<void> | null = null;
  #ended = false;
  #unsettled = 0;

  constructor(options: AlertSettings, watched: Watched) {
    this.#options = options;
    this.#watched = watched;
    this.#failed = oncePerMinute(watched.clock, watched.logger.error);
    this.#tick = watched.bind(() => this.#look());
  }

  begin(): void {
    if (this.#timer === undefined && this.#looking === null) this.#lookIn(soonMs);
  }

  settled(_job: Job, { to }: Outcome): void {
    if (to === "held" || to === "dead") this.#lookIn(soonMs);
  }

  async end(): Promise<void> {
    const { clock } = this.#watched;
    this.#ended = true;
    clock.clearTimeout(this.#timer);
    if (this.#looking !== null) await settlesWithin(clock, endMs, this.#looking);
  }

  #lookIn(ms: number): void {
    const { clock } = this.#watched;
    const at = clock.now() + ms;
    if (this.#ended || (this.#timer !== undefined && this.#timerAt <= at)) return;
    clock.clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setUnrefTimeout(clock, this.#tick, ms);
  }

  #look(): void {
    this.#timer = undefined;
    this.#looking ??= this.#compare().finally(() => {
      this.#looking = null;
      this.#lookIn(everyMs);
    });
  }

  async #compare(): Promise<void> {
    const { lookout } = this.#watched;
    const before = lookout.look;
    const { problems, inbox } = await lookout.health();
    // Nothing is known of an inbox that is closed.
    if (this.#ended) return;
    const { look } = lookout;
    const isNew = inbox.ok && look !== null && look !== before;
    if (isNew && !this.#isUnkept) this.#told = toldIn(look.told);
    if (isNew && !this.#isFirst()) return;
    const open = problems.filter(({ code }) => this.#options.on.includes(code));
    for (const problem of open) await this.#begun(problem);
    const keys = new Set(open.map(problemKey));
    // Of an inbox that fails it is not known what is over.
    const ended = Object.entries(this.#told).filter(([key]) => isNew && !keys.has(key));
    const acts = ended.some(([, { code }]) => code.startsWith("parked")) ? await this.#acts() : [];
    for (const [key, told] of ended) await this.#over(key, told, acts);
    if (this.#isUnkept) await this.#keep();
  }

  /** Of several processes that send alerts, the one that began first tells. */
  #isFirst(): boolean {
    const { clock, lookout } = this.#watched;
    const telling = livingOf(lookout.reports, clock.now()).filter(({ news }) => news.alerts);
    telling.sort((one, other) => one.since - other.since || (one.id < other.id ? -1 : 1));
    return telling.length === 0 || telling[0]?.id === lookout.reports[0]?.id;
  }

  async #begun(problem: Problem): Promise<void> {
    const { name, lookout } = this.#watched;
    const key = problemKey(problem);
    const known = this.#told[key];
    if (known !== undefined && (known.severity === "critical" || problem.severity === "warning"))
      return;
    if (!(await this.#send(firing(name, problem, this.#redact)))) return;
    const { code, severity, reason, count } = problem;
    const since = problem.since.getTime() - lookout.wallOffset;
    this.#told = { ...this.#told, [key]: { code, severity, reason, count, since } };
    await this.#keep();
  }

  async #over(key: string, told: Told, acts: readonly LoggedAct[]): Promise<void> {
    const { name, clock, lookout } = this.#watched;
    const { reports, wallOffset } = lookout;
    const alert = over(name, told, { reports, acts, now: clock.now(), wallOffset });
    if (this.#options.on.includes(told.code) && !(await this.#send(alert))) return;
    const { [key]: _, ...others } = this.#told;
    this.#told = others;
    await this.#keep();
  }

  /** The last acts of people; none if the inbox does not tell them: the alert then says less. */
  #acts(): Promise<LoggedAct[]> {
    const { inbox, name } = this.#watched;
    return this.#soon(() => inbox.acts({ receiver: name, limit: maxActs })).catch(() => []);
  }

  /** Keeps what was told, for other processes and the next one; a failure is made good with the next look. */
  async #keep(): Promise<void> {
    const { inbox, name } = this.#watched;
    const text = JSON.stringify(this.#told);
    const keeping = this.#soon(() => inbox.keepNotes(name, { [toldKey]: text }));
    this.#isUnkept = await keeping.then(
      () => false,
      () => true,
    );
  }

  #soon<T>(ask: () => Promise<T>): Promise<T> {
    const late = "The inbox gives no answer";
    return withTimeout({ clock: this.#watched.clock, ms: keepMs, late }, ask);
  }

  /** Resolves to whether it was sent; never rejects. */
  async #send(alert: Alert): Promise<boolean> {
    const { clock } = this.#watched;
    const late = `send took over ${sendMs / 1_000} s`;
    try {
      if (this.#unsettled >= maxUnsettled) {
        throw new Error(`${maxUnsettled} earlier calls of send have not settled`);
      }
      await withTimeout({ clock, ms: sendMs, late }, ({ signal }) => this.#call(alert, signal));
      return true;
    } catch (error) {
      const fields = { code: alert.code, error: this.#redact(describe(error)) };
      this.#failed(fields, messages.alertNotSent);
      return false;
    }
  }

  /** The text of an error, as others may see it. */
  readonly #redact = (text: string): string =>
    printable(redactAddresses(this.#watched.redact(text).slice(0, 500)));

  async #call(alert: Alert, signal: AbortSignal): Promise<void> {
    this.#unsettled++;
    try {
      await this.#options.send(alert, { signal });
    } finally {
      this.#unsettled--;
    }
  }
}

function toldIn(text: string | null): ToldByKey {
  return tryGet(() => JSON.parse(text ?? "{}") as ToldByKey | null) ?? {};
}
