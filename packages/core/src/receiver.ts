import { ReporthookError } from "./errors.ts";
import type { NoSchemas, Schemas } from "./events/events.ts";
import { Recognizer } from "./events/recognize.ts";
import { HandleStage } from "./handle/handle-stage.ts";
import { type AnyHandler, Handlers, isInsideHandler } from "./handle/handlers.ts";
import { type Health, inside, Lookout } from "./health/health.ts";
import { Presence } from "./health/presence.ts";
import { ProcessState } from "./health/process-state.ts";
import { type CloseOptions, Connections, serverEnd } from "./http/connections.ts";
import { incomingFromRequest, toResponse } from "./http/fetch.ts";
import type { Endpoint } from "./http/incoming.ts";
import { type ReceiverInbox, type ReceiverView, receiverInbox } from "./inbox/receiver-inbox.ts";
import {
  acquireInbox,
  type Holder,
  releaseInbox,
  releaseName,
  reserveName,
} from "./inbox/receivers.ts";
import { tryGet } from "./lib/safe-get.ts";
import { realClock } from "./lib/time/real-timers.ts";
import { settlesWithin } from "./lib/time/timeout.ts";
import { assertKnownKeys, assertMs } from "./lib/validate.ts";
import { watch } from "./observe/instrumentation.ts";
import { Reporter } from "./observe/reporter.ts";
import type { ReceiverOptions } from "./options/receiver-options.ts";
import {
  type ReceiverSettings,
  receiverSettingsOf,
  warnOfSettings,
} from "./options/receiver-settings.ts";
import { createEndpoint } from "./receive/endpoint.ts";
import { InsideRequest } from "./receive/inside-request.ts";
import { Pipeline } from "./receive/pipeline.ts";
import type { Receiver } from "./receiver-type.ts";
import { Asking } from "./reports/asking.ts";
import { KnownRequests } from "./reports/known-requests.ts";
import { OverdueSweep } from "./reports/overdue-sweep.ts";
import { reportsIn } from "./reports/reports.ts";
import { untilIdle } from "./run/idle.ts";
import { Runner } from "./run/runner.ts";
import { WaitUntil } from "./run/wait-until.ts";
import { Work } from "./run/work.ts";
import { VerifyStage } from "./verify/verify-stage.ts";

/** Milliseconds that a list may show a delivery after its retention is over. */
const pruneForListsMs = 1_000;

/**
 * Makes a receiver: it answers notifications once they are stored, then verifies and handles them.
 *
 * @throws TypeError that names a wrong option
 * @example
 * const receiver = createReceiver({ client });
 * receiver.on("report.complete", async (event) => console.log(event.reportId));
 */
export function createReceiver<Context = unknown, const S extends Schemas = NoSchemas>(
  options: ReceiverOptions<Context, S> & { readonly callback: { readonly require: true } },
): Receiver<Context, S, true>;
export function createReceiver<Context = unknown, const S extends Schemas = NoSchemas>(
  options: ReceiverOptions<Context, S>,
): Receiver<Context, S>;
export function createReceiver(options: ReceiverOptions): Receiver {
  return Object.freeze(new OwnReceiver(options));
}

/** A receiver: its parts in the order of their making. No member needs its `this`. */
class OwnReceiver implements Receiver {
  readonly name: string;
  readonly #settings: ReceiverSettings;
  readonly #holder: Holder;
  readonly #handlers = new Handlers();
  readonly #connections: Connections;
  readonly #reporter: Reporter;
  readonly #runner: Runner;
  readonly #view: ReceiverView;
  readonly health: () => Promise<Health>;
  // No field: bundlers keep a class with a computed one, and all that it needs.
  declare readonly [inside]: Lookout;
  readonly inbox: ReceiverInbox;
  readonly reports: Receiver["reports"];
  readonly #known: KnownRequests;
  readonly #asking: Asking;
  readonly #sweep: OverdueSweep;
  readonly #endpoint: Endpoint;
  #closing: Promise<void> | undefined;

  constructor(options: ReceiverOptions) {
    const settings = receiverSettingsOf(options);
    const { ack, clock, inbox, logger, name, time } = settings;
    this.name = name;
    this.#settings = settings;
    this.#holder = { name, inbox, answer: this.#answer, close: this.close };
    reserveName(this.#holder, options.name !== undefined, logger);
    acquireInbox(inbox);
    warnOfSettings(settings, options.inbox !== undefined);
    this.#connections = new Connections(clock);
    const own = new ProcessState(clock, settings.observe[watch] !== undefined);
    // Of parts that are made below.
    const view: ReceiverView = {
      inbox,
      name,
      clock,
      time,
      get phase() {
        return runner.phase;
      },
      prune: () => work.prune(pruneForListsMs),
    };
    this.#view = view;
    const lookout = new Lookout(view, own);
    this.health = lookout.health;
    this[inside] = lookout;
    const waitUntil = new WaitUntil(settings);
    const reporter = new Reporter(settings, lookout, [own, own.counters, waitUntil]);
    this.#reporter = reporter;
    const recognizer = new Recognizer(settings.parse);
    const known = new KnownRequests(view, ack);
    this.#known = known;
    const verify = new VerifyStage(settings, recognizer, reporter, known, lookout);
    const handle = new HandleStage(settings, recognizer, reporter, known, this.#handlers);
    const sweep = new OverdueSweep(settings, known);
    this.#sweep = sweep;
    const presence = new Presence(view, own, lookout);
    const work = new Work(settings, verify, handle, reporter, sweep, presence);
    const runner = new Runner(settings, work, this.#connections);
    this.#runner = runner;
    this.inbox = receiverInbox(view);
    this.#asking = new Asking(settings, known, reporter);
    const { request } = this.#asking;
    this.reports = Object.freeze({ ...reportsIn(view, known), request });
    const within = new InsideRequest(settings, verify, handle, reporter, runner.signal);
    const pipeline = new Pipeline(settings, within, runner, reporter);
    this.#endpoint = createEndpoint(
      settings,
      pipeline,
      runner,
      reporter,
      this.#connections,
      waitUntil,
    );
  }

  readonly on: Receiver["on"] = (names, handler) => {
    if (this.#runner.phase !== "new") {
      throw new ReporthookError("already_started", `Receiver ${this.name} ${alreadyStarted}`);
    }
    this.#handlers.add(names, handler as unknown as AnyHandler);
    return this;
  };

  readonly fetch: Receiver["fetch"] = async (request, first, second) => {
    const context = typeof first?.waitUntil === "function" ? first : second;
    return toResponse(await this.#answer(incomingFromRequest(request), context));
  };

  readonly mount = () => {
    // Handlers may still be registered in this tick. If timers are forbidden, the first request starts the work.
    tryGet(() => setTimeout(() => this.#runner.ensureStarted(), 0));
    return this.#answer;
  };

  readonly start = () => this.#runner.start();

  readonly close = async (options: CloseOptions | null = {}): Promise<void> => {
    // Others are ignored: as the listener of a signal, or in a test's hook, it is given what is none.
    const { timeoutMs = 25_000, [serverEnd]: end } = options ?? {};
    assertMs("close: timeoutMs", timeoutMs);
    if (end !== undefined) this.#connections.hold(end);
    this.#closing ??= this.#settings.bind(() => this.#end(timeoutMs))();
    if (isInsideHandler()) this.#closing.catch(this.#reporter.unexpected);
    else await this.#closing;
  };

  readonly idle: Receiver["idle"] = async (options = {}) => {
    assertKnownKeys("idle", options, ["timeoutMs"]);
    const { timeoutMs = 5_000 } = options;
    assertMs("idle: timeoutMs", timeoutMs);
    const start = () => this.#runner.ensureStarted();
    await untilIdle(this.#view, this.#sweep, start, timeoutMs);
  };

  readonly callbackUrl: Receiver["callbackUrl"] = async (base, options = {}) => {
    const { callbacks } = this.#settings;
    if (callbacks === undefined) throw new TypeError(noCallback);
    assertKnownKeys("callbackUrl", options, ["context"]);
    return callbacks.url(base, options.context);
  };

  readonly #answer: Endpoint = (incoming, context) => {
    const answer = this.#holder.successor?.answer ?? this.#endpoint;
    return answer(incoming, context);
  };

  /** Ends the work, then releases the name and the inbox. */
  async #end(timeoutMs: number): Promise<void> {
    const { clock, inbox } = this.#settings;
    const until = clock.now() + timeoutMs;
    await this.#runner.close(timeoutMs);
    const leftMs = (): number => Math.min(timeoutMs, Math.max(0, until - clock.now()));
    // A report that is being asked for may be charged: its answer is kept.
    await settlesWithin(realClock, leftMs(), this.#asking.ended());
    this.#connections.cut(leftMs());
    this.#known.end();
    releaseName(this.#holder);
    const ends = [releaseInbox(inbox, clock, leftMs()), this.#reporter.end()];
    await Promise.allSettled(ends);
    await Promise.all(ends);
  }
}

const alreadyStarted =
  "has started: register handlers before the turn in which it is mounted ends, or set autostart: false and call start() afterwards";
const noCallback =
  "callbackUrl needs secrets to sign with: give createReceiver callback: { secrets: [secret] }, a secret of at least 32 characters such as `openssl rand -base64 32` prints";
