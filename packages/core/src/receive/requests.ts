import { acknowledge, type ReceiveResult } from "../http/answer.ts";
import type { Connections } from "../http/connections.ts";
import type { FetchContext } from "../http/fetch.ts";
import { type Answer, type Incoming, look } from "../http/incoming.ts";
import type { Status } from "../inbox/health.ts";
import { newId } from "../inbox/id.ts";
import { describe } from "../lib/describe.ts";
import { InFlight, type InFlightItem } from "../lib/in-flight.ts";
import { type Logger, oncePerMinute } from "../lib/log.ts";
import { shownFields } from "../lib/thrown.ts";
import { Deadline } from "../lib/time/deadline.ts";
import { messages } from "../log-messages.ts";
import type { FirstAttempts } from "../observe/first-attempts.ts";
import { logAnswer } from "../observe/log-lines.ts";
import { type WarnOfRefusal, warnOfRefusals } from "../observe/refusals.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { Pipeline } from "./pipeline.ts";

/** The parts of {@link Requests}. */
export interface RequestsParts {
  readonly pipeline: Pipeline;
  readonly status: Readonly<Status>;
  readonly firstAttempts: FirstAttempts;
  readonly connections: Connections;
  readonly reporter: Reporter;
}

/** A request on its way to the answer. */
interface Running extends InFlightItem {
  readonly pending: Promise<ReceiveResult>;
}

/** The requests of a receiver. Each goes through the pipeline within its deadline, and is always answered. */
export class Requests {
  readonly #settings: ReceiverSettings;
  readonly #parts: RequestsParts;
  /** Runs in the async context of `createReceiver`, never in a request's. */
  readonly #pipeline: Pipeline;
  readonly #running = new InFlight<Running>();
  readonly #failed: Logger["error"];
  readonly #warnOfRefusal: WarnOfRefusal;

  constructor(settings: ReceiverSettings, parts: RequestsParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#pipeline = settings.bind(parts.pipeline);
    this.#failed = oncePerMinute(settings.clock, settings.logger.error);
    this.#warnOfRefusal = warnOfRefusals(settings);
  }

  /** Answers a request. Never rejects. */
  answer(incoming: Incoming, context?: FetchContext): Promise<Answer> {
    return this.#answer(incoming, context).catch((error) =>
      acknowledge(this.#unexpected(error), incoming.multiplexed, this.#parts.status.closing),
    );
  }

  /** Resolves when all running requests are answered. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#running].map(({ pending }) => pending));
  }

  async #answer(incoming: Incoming, context?: FetchContext): Promise<Answer> {
    const { clock, limits, logger } = this.#settings;
    const deadline = new Deadline(clock, limits.ackMs);
    const id = newId(clock.wallNow());
    const pending = this.#begin(incoming, id, deadline, context);
    const { connections } = this.#parts;
    const connection = connections.begin(incoming);
    const number = connection?.begun ?? 0;
    const running: Running = { pending, place: -1 };
    this.#running.add(running);
    let decision: ReceiveResult;
    try {
      decision = await pending;
    } catch (error) {
      decision = this.#unexpected(error);
    }
    deadline.end();
    this.#running.delete(running);
    if (connections.deaf !== null) await connections.deaf;
    const isLast = connections.end(connection, number, "status" in decision);
    logAnswer(logger, id, decision, deadline);
    if ("refused" in decision) this.#warnOfRefusal(decision.refused, incoming);
    if (!this.#isWorkedOn(id, decision)) this.#parts.firstAttempts.settle(id);
    if (look(() => incoming.answered?.()) === true) this.#warnOfRefusal("answered", incoming);
    return acknowledge(decision, incoming.multiplexed, isLast);
  }

  #begin(
    incoming: Incoming,
    id: string,
    deadline: Deadline,
    context?: FetchContext,
  ): Promise<ReceiveResult> {
    const { reporter, firstAttempts } = this.#parts;
    const attempted = context?.waitUntil === undefined ? null : firstAttempts.wait(id);
    const run = (given: Incoming): Promise<ReceiveResult> => this.#pipeline(given, id, deadline);
    const pending = reporter.receive(incoming, id, run);
    try {
      context?.waitUntil?.(Promise.allSettled([pending, attempted]));
    } catch (error) {
      this.#failed({ error: describe(error) }, messages.waitUntilFailed);
    }
    return pending;
  }

  /** Whether this process will handle the delivery. */
  #isWorkedOn(id: string, decision: ReceiveResult): boolean {
    const { status } = this.#parts;
    const isNew = "id" in decision && decision.id === id;
    return isNew && this.#settings.ack === "stored" && status.started && !status.stopped;
  }

  #unexpected(error: unknown): ReceiveResult {
    const fields = shownFields(error, this.#settings.redact);
    this.#failed(fields, messages.requestFailed);
    return { refused: "inbox_unavailable" };
  }
}
