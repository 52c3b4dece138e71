import type { Job, Outcome, ReasonCode } from "../inbox/delivery.ts";
import type { Health } from "../inbox/health.ts";
import type { ReasonCounts } from "../inbox/selection.ts";
import { describe } from "../lib/describe.ts";
import { type Logger, oncePerMinute } from "../lib/log.ts";
import { printable } from "../lib/printable.ts";
import { redactAddresses } from "../lib/redact.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { settlesWithin, withTimeout } from "../lib/time/timeout.ts";
import type { Instrumentation, Watched } from "../observe/instrumentation.ts";
import { type Alert, type AlertKind, alertOf } from "./alert.ts";
import { alertMessages } from "./messages.ts";
import { type Due, Lasting, ParkedFor } from "./topics.ts";

/** Options of `alerts`. */
export interface AlertsOptions {
  /** Delivers a message. It has failed if it throws, rejects, or takes over 10 seconds: then `signal` is aborted. */
  readonly send: (alert: Alert, context: { readonly signal: AbortSignal }) => unknown;
  /** Which kinds: all. */
  readonly on?: readonly AlertKind[] | undefined;
  /** `parked`: this number of deliveries for one reason within `windowMs`: 1. */
  readonly parked?: number | undefined;
  /** `backlog`: the oldest delivery waits for more milliseconds: 600,000. */
  readonly oldestWaitingMs?: number | undefined;
  /** `backlog`: more deliveries wait: 10,000. */
  readonly waiting?: number | undefined;
  /** Milliseconds in which at most one message of the same kind and reason begins: 600,000. */
  readonly windowMs?: number | undefined;
}

/** The options of `alerts`, with every default filled in. */
export type AlertSettings = {
  readonly [Name in keyof AlertsOptions]-?: NonNullable<AlertsOptions[Name]>;
};

const noTime = { from: new Date(0), until: new Date(0) };
const everyMs = 30_000;
/** A burst of parked deliveries is one message. */
const soonMs = 5_000;
const sendMs = 10_000;
const answerMs = 4_000;
const endMs = 2_000;
const maxUnsettled = 10;

/** Looks at a receiver again and again, and has a message sent at each beginning and end. */
export class AlertWatcher implements Instrumentation {
  readonly #settings: AlertSettings;
  readonly #watched: Watched;
  readonly #failed: Logger["error"];
  readonly #tick: () => void;
  readonly #lasting: ReadonlyMap<Exclude<AlertKind, "parked">, Lasting>;
  readonly #parked = new Map<ReasonCode, ParkedFor>();
  #seen = { count: 0, oldestMs: 0, error: "" };
  #timer: unknown;
  #timerAt = 0;
  #looking = false;
  #ended = false;
  #unsettled = 0;
  #telling: Promise<void> = Promise.resolve();

  constructor(settings: AlertSettings, watched: Watched) {
    this.#settings = settings;
    this.#watched = watched;
    this.#failed = oncePerMinute(watched.clock, watched.logger.error);
    this.#tick = watched.bind(() => void this.#look());
    const kinds = (["refused", "backlog", "inbox"] as const).filter((kind) =>
      settings.on.includes(kind),
    );
    this.#lasting = new Map(kinds.map((kind) => [kind, new Lasting(settings.windowMs)]));
  }

  begin(): void {
    if (this.#timer === undefined && !this.#looking) this.#lookIn(everyMs);
  }

  settled(_job: Job, outcome: Outcome): void {
    const { on, parked, windowMs } = this.#settings;
    const { ack, clock } = this.#watched;
    // Without a store, nothing is parked.
    if ((outcome.to !== "held" && outcome.to !== "dead") || ack === "handled") return;
    if (!on.includes("parked")) return;
    const { code } = outcome.reason;
    const topic = this.#parked.get(code) ?? new ParkedFor(windowMs, parked);
    this.#parked.set(code, topic);
    topic.add(clock.now());
    this.#lookIn(soonMs);
  }

  deleted(parked: ReasonCounts): void {
    for (const [reason, topic] of this.#parked) topic.deleted += parked[reason] ?? 0;
  }

  async end(): Promise<void> {
    const { clock } = this.#watched;
    this.#ended = true;
    clock.clearTimeout(this.#timer);
    await settlesWithin(clock, endMs, this.#tell());
  }

  #lookIn(ms: number): void {
    const { clock } = this.#watched;
    const at = clock.now() + ms;
    if (this.#ended || (this.#timer !== undefined && this.#timerAt <= at)) return;
    clock.clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setUnrefTimeout(clock, this.#tick, ms);
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    if (!this.#looking) {
      this.#looking = true;
      if (this.#lasting.size > 0) this.#see(await this.#watched.health());
      await this.#count();
      if (!this.#ended) await this.#tell();
      this.#looking = false;
      this.#lookIn(everyMs);
    } else this.#lookIn(soonMs);
  }

  #see({ inbox, service, counts, oldestWaitingMs, ready }: Health): void {
    // Nothing is known of an inbox that is closed.
    if (this.#ended || (!ready && inbox.ok)) return;
    const now = this.#watched.clock.now();
    const error = inbox.error ?? "";
    const count = counts.received + counts.verified;
    const oldestMs = oldestWaitingMs ?? 0;
    this.#seen = { count, oldestMs, error: this.#redact(error) };
    this.#lasting.get("inbox")?.look(!inbox.ok, now);
    const refused = service === "refused" ? true : service === "ok" ? false : null;
    this.#lasting.get("refused")?.look(refused, now);
    const { oldestWaitingMs: longest, waiting } = this.#settings;
    const behind = error === "" ? oldestMs > longest || count > waiting : null;
    this.#lasting.get("backlog")?.look(inbox.ok ? behind : null, now);
  }

  /** Finds out whether the parked deliveries that were told are still there. */
  async #count(): Promise<void> {
    const open = [...this.#parked].filter(([, { isOpen }]) => isOpen);
    if (this.#ended || open.length === 0) return;
    const before = open.map(([, { added }]) => added);
    const { clock, inbox, name: receiver } = this.#watched;
    const bounds = { clock, ms: answerMs, late: "The inbox gives no answer" };
    const summary = withTimeout(bounds, () => inbox.summary({ receiver, ...noTime }));
    const counts = await summary.then(({ parked }) => parked).catch(() => null);
    for (const [index, [reason, topic]] of open.entries()) {
      const isEmpty = counts !== null && (counts[reason] ?? 0) === 0;
      if (isEmpty && topic.added === before[index]) topic.empty();
    }
  }

  /** Sends all that is due, one after the other. */
  #tell(): Promise<void> {
    this.#telling = this.#telling.then(async () => {
      for (const [reason, topic] of this.#parked) {
        const { deleted, fresh, since } = topic;
        const count = topic.due(this.#watched.clock.now()) === "resolved" ? deleted : fresh;
        await this.#tellOf("parked", reason, since, count, topic);
      }
      for (const [kind, topic] of this.#ended ? [] : this.#lasting) {
        await this.#tellOf(kind, null, topic.since, this.#seen.count, topic);
      }
    });
    return this.#telling;
  }

  async #tellOf(
    kind: AlertKind,
    reason: ReasonCode | null,
    since: number,
    count: number,
    topic: Pick<ParkedFor, "due" | "sent">,
  ): Promise<void> {
    const now = this.#watched.clock.now();
    const state: Due = topic.due(now);
    if (state === null) return;
    const { name: receiver } = this.#watched;
    const { wallOffset } = this.#watched.clock;
    const seen = { since: since + wallOffset, now: now + wallOffset };
    const told = { ...this.#seen, kind, state, receiver, reason, ...seen, count };
    if (await this.#send(alertOf(told))) topic.sent(state, now, count);
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
      const fields = { kind: alert.kind, error: this.#redact(describe(error)) };
      this.#failed(fields, alertMessages.notSent);
      return false;
    }
  }

  async #call(alert: Alert, signal: AbortSignal): Promise<void> {
    this.#unsettled++;
    try {
      await this.#settings.send(alert, { signal });
    } finally {
      this.#unsettled--;
    }
  }

  /** An error's text, as others may see it. */
  #redact(text: string): string {
    return printable(redactAddresses(this.#watched.redact(text).slice(0, 500)));
  }
}
