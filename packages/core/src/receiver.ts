import { createCallbacks } from "./callback-urls/callback-url.ts";
import { overHttpOf } from "./client/client-options.ts";
import type { NoSchemas, Schemas } from "./events/events.ts";
import { Recognizer } from "./events/recognize.ts";
import { HandleStage } from "./handle/handle-stage.ts";
import {
  type AnyHandler,
  isInsideHandler,
  type Registration,
  register,
} from "./handle/handlers.ts";
import { type CloseOptions, Connections, serverEnd } from "./http/connections.ts";
import { type FetchContext, incomingFromRequest, toResponse } from "./http/fetch.ts";
import type { Answer, Incoming } from "./http/incoming.ts";
import { newStatus, watchHealth } from "./inbox/health.ts";
import { receiverInbox } from "./inbox/receiver-inbox.ts";
import { referenceCountOf, reserveName } from "./inbox/receivers.ts";
import { oncePerMinute } from "./lib/log.ts";
import { assertMs } from "./lib/validate.ts";
import { messages } from "./log-messages.ts";
import { FirstAttempts } from "./observe/first-attempts.ts";
import { Reporter } from "./observe/reporter.ts";
import { watch } from "./observe/watcher.ts";
import type { ReceiverOptions } from "./options/receiver-options.ts";
import { type ReceiverSettings, receiverSettingsOf } from "./options/receiver-settings.ts";
import { Admission } from "./receive/admission.ts";
import { InsideRequest } from "./receive/inside-request.ts";
import { createPipeline } from "./receive/pipeline.ts";
import { Requests } from "./receive/requests.ts";
import type { Receiver } from "./receiver-type.ts";
import { untilIdle } from "./run/idle.ts";
import { Pruner } from "./run/pruner.ts";
import { Runner } from "./run/runner.ts";
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
  const settings = receiverSettingsOf(options);
  const { bind, inbox, logger, name } = settings;
  const self = { inbox, answer, close: () => receiver.close() };
  const reservation = reserveName(self, name, options.name !== undefined, logger);
  referenceCountOf(inbox).acquire();
  warnAtCreation(settings, options.inbox !== undefined);
  const registrations: Registration[] = [];
  const parts = partsOf(settings, registrations);
  const { callbacks, connections, health, pruner, reporter, requests, runner, status } = parts;
  let closing: Promise<void> | undefined;

  function answer(incoming: Incoming, context?: FetchContext): Promise<Answer> {
    const { successor } = reservation;
    return (successor ?? requests).answer(incoming, context);
  }

  const receiver: Receiver = {
    name,
    on(names, handler) {
      const { started } = status;
      register(registrations, { name, started }, names, handler as unknown as AnyHandler);
      return receiver;
    },
    async fetch(request, first, second) {
      const context = typeof first?.waitUntil === "function" ? first : second;
      return toResponse(await answer(incomingFromRequest(request), context));
    },
    mount() {
      // Handlers may still be registered in this tick. If timers are forbidden, the first request starts the work.
      try {
        setTimeout(() => runner.ensureStarted(), 0);
      } catch {}
      return answer;
    },
    start: () => runner.start(),
    async close({ timeoutMs = 25_000, [serverEnd]: end }: CloseOptions = {}) {
      assertMs("close: timeoutMs", timeoutMs);
      if (end !== undefined) connections.hold(end);
      const isInside = isInsideHandler();
      closing ??= bind(endWork)(settings, parts, reservation, timeoutMs);
      if (isInside) closing.catch(reporter.unexpected);
      else await closing;
    },
    async idle({ timeoutMs = 5_000 } = {}) {
      assertMs("idle: timeoutMs", timeoutMs);
      const asked = receiverInbox(settings, async () => {}, status);
      await untilIdle({ inbox: asked, name, started: status.started }, timeoutMs);
    },
    async callbackUrl(base, { context } = {}) {
      if (callbacks === null) throw new TypeError("callbackUrl needs the option callback");
      return callbacks.url(base, context);
    },
    health,
    inbox: receiverInbox(settings, () => pruner.prune(pruneForListsMs), status),
  };
  return Object.freeze(receiver);
}

/** Makes the parts of a receiver, each from those before it. */
function partsOf(settings: ReceiverSettings, registrations: readonly Registration[]) {
  const { name, redact } = settings;
  const callbacks = settings.callback ? createCallbacks(settings.callback, settings) : null;
  const status = newStatus();
  const health = watchHealth(settings, status);
  const instrumentation = settings.instrument?.({ name, health, redact });
  const watcher = settings.observe[watch]?.({ ...settings, health });
  const reporter = new Reporter(settings, instrumentation, watcher);
  const recognizer = new Recognizer(settings.parse);
  const stages = {
    verify: new VerifyStage({ ...settings, recognizer, instrumentation, status }),
    handle: new HandleStage({ ...settings, recognizer, instrumentation, registrations }),
  };
  tellSteps(settings);
  const pruner = new Pruner(settings, reporter);
  const firstAttempts = new FirstAttempts();
  const connections = new Connections(settings.clock);
  const working = { stages, reporter, firstAttempts, connections, pruner, status, watcher };
  const runner = new Runner(settings, working);
  const admission = new Admission(settings, status);
  const inside = new InsideRequest(settings, { stages, reporter, signal: runner.signal });
  const receiving = { callbacks, admission, inside, runner, pruner, reporter, firstAttempts };
  const pipeline = createPipeline({ ...receiving, settings, status });
  const answering = { pipeline, firstAttempts, connections, instrumentation, status };
  const requests = new Requests(settings, answering);
  return {
    callbacks,
    connections,
    health,
    instrumentation,
    pruner,
    reporter,
    requests,
    runner,
    status,
    watcher,
  };
}

/** Ends the work, then releases the name and the inbox. */
async function endWork(
  { clock, inbox, logger, name }: ReceiverSettings,
  { instrumentation, requests, runner, watcher }: ReturnType<typeof partsOf>,
  reservation: { release(): void },
  timeoutMs: number,
): Promise<void> {
  const until = clock.now() + timeoutMs;
  await runner.close(timeoutMs, () => requests.settled());
  const isLost = inbox.guarantees.durability === "process";
  const waiting = isLost ? inbox.backlog(name).waiting : 0;
  if (waiting > 0) logger.error({ waiting }, messages.closedWhileWaiting);
  try {
    instrumentation?.end();
  } finally {
    reservation.release();
    const told = watcher?.end();
    await referenceCountOf(inbox).release(clock, Math.min(timeoutMs, until - clock.now()));
    await told;
  }
}

/** Has a wall clock that was set logged, and kept in mind by the inbox. */
function tellSteps({ clock, logger, time }: ReceiverSettings): void {
  const tell = oncePerMinute(clock, logger.warn);
  time.clock.onStep = (ms) => {
    tell({ ms }, messages.clockSet);
    void time.keep();
  };
}

function warnAtCreation({ ack, client, logger }: ReceiverSettings, isInboxGiven: boolean): void {
  if (ack === "stored" && !isInboxGiven) {
    logger.warn({}, messages.noInbox);
  }
  const baseUrl = overHttpOf(client);
  if (baseUrl === undefined) return;
  logger.warn({ baseUrl }, messages.insecure);
}
