import { type ProblemKind, problemKey, problemKinds } from "../health/problem.ts";
import { livingOf } from "../health/process-report.ts";
import { toldKey } from "../health/situation.ts";
import type { Job, Outcome } from "../inbox/delivery.ts";
import { safeGet, tryGet } from "../lib/safe-get.ts";
import { describe } from "../lib/text/describe.ts";
import { printable } from "../lib/text/printable.ts";
import { redactAddresses } from "../lib/text/redact.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { settlesWithin, type TimeoutScope, withTimeout } from "../lib/time/timeout.ts";
import { assertKnownKeys, assertOption, fail, typeName } from "../lib/validate.ts";
import { messages } from "../log-messages.ts";
import type { Observe } from "../observe/hooks.ts";
import { type Instrumentation, type Watched, watch } from "../observe/instrumentation.ts";
import { type Alert, deletedIn, firing, over, type Told } from "./alert.ts";

/** Options of `alerts`. */
export interface AlertsOptions {
  /**
   * Delivers a message. It has failed if it throws, rejects, resolves to a `Response` that is not `ok`, or takes over 10 seconds:
   * then `signal` is aborted.
   */
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

/**
 * Sends a message when a problem of `health()` begins, and one when it is over: once for an inbox, also with several
 * processes, and after restarts.
 *
 * @throws TypeError that names a wrong option
 * @example
 * const receiver = createReceiver({
 *   client,
 *   observe: alerts({ send: ({ text }) => console.error(text) }),
 * });
 */
export function alerts(options: AlertsOptions): Observe {
  assertKnownKeys("alerts", options, ["send", "on"]);
  const { send, on = problemKinds } = options;
  if (typeof send !== "function") fail("alerts: send", "a function", typeName(send));
  const names = problemKinds.join(", ");
  assertOption("alerts: on", `an array of ${names}`, on, Array.isArray(on));
  for (const code of on) {
    assertOption("alerts: on", `of ${names}`, code, problemKinds.includes(code));
  }
  return { [watch]: (watched) => new AlertWatcher(send, [...on], watched) };
}

/** Compares the problems of a receiver with those that were told, again and again, and has the difference sent. */
class AlertWatcher implements Instrumentation {
  readonly #send: AlertsOptions["send"];
  readonly #on: readonly ProblemKind[];
  readonly #watched: Watched;
  /** By the keys of the problems, as it is kept in the inbox, with what could not be kept there. */
  #told = new Map<string, Told>();
  #isUnkept = false;
  #timer: unknown;
  #timerAt = 0;
  #looking: Promise<void> | null = null;
  #ended = false;
  #unsettled = 0;

  constructor(send: AlertsOptions["send"], on: readonly ProblemKind[], watched: Watched) {
    this.#send = send;
    this.#on = on;
    this.#watched = watched;
  }

  begin(): void {
    this.#lookIn(soonMs);
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
    const { bind, clock } = this.#watched;
    const at = clock.now() + ms;
    if (this.#ended || (this.#timer !== undefined && this.#timerAt <= at)) return;
    clock.clearTimeout(this.#timer);
    this.#timerAt = at;
    const look = bind(() => this.#look());
    this.#timer = setUnrefTimeout(clock, look, ms);
  }

  #look(): void {
    this.#timer = undefined;
    this.#looking ??= this.#compare()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#looking = null;
        this.#lookIn(everyMs);
      });
  }

  async #compare(): Promise<void> {
    const { name, lookout } = this.#watched;
    const before = lookout.look;
    const { problems, inbox } = await lookout.health();
    // Nothing is known of an inbox that is closed.
    if (this.#ended) return;
    const { look } = lookout;
    const isNew = inbox.ok && look !== null && look !== before;
    if (isNew && !this.#isUnkept) this.#told = toldIn(look.told);
    if (isNew && !this.#isFirst()) return;
    const open = new Map(problems.map((problem) => [problemKey(problem), problem]));
    for (const [key, problem] of open) {
      const { code, severity, reason, count } = problem;
      const told = this.#told.get(key)?.severity;
      if (!this.#on.includes(code) || told === "critical" || told === severity) continue;
      if (!(await this.#sent(firing(name, problem, this.#redact)))) continue;
      const since = problem.since.getTime() - lookout.wallOffset;
      const deleted = deletedIn(problem, look?.facts.deleted);
      this.#told.set(key, { code, severity, reason, count, since, deleted });
      await this.#keep();
    }
    // Of an inbox that fails it is not known what is over.
    for (const [key, told] of isNew ? [...this.#told] : []) {
      const isKnown = told.code !== "process_stalled" || lookout.knowsSilent;
      if (open.has(key) || !isKnown) continue;
      const alert = over(this.#watched, told, deletedIn(told, look?.facts.deleted));
      // One whose kind is told no more is forgotten.
      if (this.#on.includes(told.code) && !(await this.#sent(alert))) continue;
      this.#told.delete(key);
      await this.#keep();
    }
    if (this.#isUnkept) await this.#keep();
  }

  /** Of several processes that send alerts, the one that began first tells. */
  #isFirst(): boolean {
    const { clock, lookout } = this.#watched;
    const telling = livingOf(lookout.reports, clock.now()).filter(({ alerts }) => alerts);
    const [own, ...others] = telling;
    if (own === undefined) return true;
    return others.every(
      ({ since, id }) => since > own.since || (since === own.since && id > own.id),
    );
  }

  /** Keeps what was told, for other processes and the next one; a failure is made good with the next look. */
  async #keep(): Promise<void> {
    const { clock, inbox, name } = this.#watched;
    const text = JSON.stringify(Object.fromEntries(this.#told));
    const late = "The inbox gives no answer";
    const keep = () => inbox.keepNotes(name, { [toldKey]: text });
    const keeping = withTimeout({ clock, ms: keepMs, late }, keep);
    this.#isUnkept = await keeping.then(
      () => false,
      () => true,
    );
  }

  /** Resolves to whether it was sent; never rejects. */
  async #sent(alert: Alert): Promise<boolean> {
    const { clock } = this.#watched;
    const late = `send took over ${sendMs / 1_000} s`;
    const call = async ({ signal }: TimeoutScope): Promise<void> => {
      this.#unsettled++;
      try {
        const answer: unknown = await this.#send(alert, { signal });
        // A fetch resolves to a 500, too.
        if (safeGet(answer, "ok") === false) {
          throw new Error(`send was answered ${safeGet(answer, "status")}`);
        }
      } finally {
        this.#unsettled--;
      }
    };
    try {
      if (this.#unsettled >= maxUnsettled) {
        throw new Error(`${maxUnsettled} earlier calls of send have not settled`);
      }
      await withTimeout({ clock, ms: sendMs, late }, call);
      return true;
    } catch (error) {
      this.#failed(error, { code: alert.code });
      return false;
    }
  }

  #failed(error: unknown, about: object = {}): void {
    const fields = { ...about, error: this.#redact(describe(error)) };
    this.#watched.oncePerMinute.error(fields, messages.alertNotSent);
  }

  /** The text of an error, as others may see it. */
  readonly #redact = (text: string): string =>
    withoutMarkup(printable(redactAddresses(this.#watched.redact(text).slice(0, 700))));
}

/** Replaces what a chat takes for a mention, a tag or a link: an error may quote a stranger's test notification. */
function withoutMarkup(text: string): string {
  return text.replace(/[<>@[]/g, (mark) => harmless[mark] ?? mark);
}

const harmless: Readonly<Record<string, string>> = { "<": "‹", ">": "›", "@": "＠", "[": "［" };

/** The problems that were told, as they are kept; without those of another version that this one does not know. */
function toldIn(kept: string | null): Map<string, Told> {
  const told = tryGet(() => Object.entries<Told>(JSON.parse(kept ?? "{}"))) ?? [];
  return new Map(told.filter(([, one]) => problemKinds.includes(one?.code)));
}
