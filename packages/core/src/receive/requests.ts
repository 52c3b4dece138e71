import { acknowledge, type ReceiveResult } from "../http/answer.ts";
import type { Connections } from "../http/connections.ts";
import type { FetchContext } from "../http/fetch.ts";
import { type Answer, type Incoming, look } from "../http/incoming.ts";
import { newId } from "../inbox/id.ts";
import { describe } from "../lib/describe.ts";
import { InFlight, type InFlightItem } from "../lib/in-flight.ts";
import { type Logger, oncePerMinute } from "../lib/log.ts";
import { shownFields } from "../lib/thrown.ts";
import { Deadline } from "../lib/time/deadline.ts";
import { messages } from "../log-messages.ts";
import { logAnswer } from "../observe/log-lines.ts";
import { type WarnOfRefusal, warnOfRefusals } from "../observe/refusals.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { Runner } from "../run/runner.ts";
import type { Pipeline } from "./pipeline.ts";

/** A request on its way to the answer. */
interface Running extends InFlightItem {
  readonly pending: Promise<ReceiveResult>;
}

/** The requests of a receiver. Each goes through the pipeline within its deadline, and is always answered. */
export class Requests {
  readonly #settings: ReceiverSettings;
  readonly #runner: Runner;
  readonly #reporter: Reporter;
  readonly #connections: Connections;
  /** Runs in the async context of `createReceiver`, never in a request's. */
  readonly #pipeline: Pipeline;
  readonly #running = new InFlight<Running>();
  readonly #failed: Logger["error"];
  readonly #warnOfRefusal: WarnOfRefusal;

  constructor(
    settings: ReceiverSettings,
    pipeline: Pipeline,
    runner: Runner,
    reporter: Reporter,
    connections: Connections,
  ) {
    this.#settings = settings;
    this.#pipeline = settings.bind(pipeline);
    this.#runner = runner;
    this.#reporter = reporter;
    this.#connections = connections;
    this.#failed = oncePerMinute(settings.clock, settings.logger.error);
    this.#warnOfRefusal = warnOfRefusals(settings);
  }

  /** Answers a request. Never rejects. */
  answer(incoming: Incoming, context?: FetchContext): Promise<Answer> {
    return this.#answer(incoming, context).catch((error) =>
      acknowledge(this.#unexpected(error), incoming.multiplexed, this.#runner.isClosing),
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
    const connections = this.#connections;
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
    if (!this.#isWorkedOn(id, decision)) this.#runner.firstAttempts.settle(id);
    if (look(() => incoming.answered?.()) === true) this.#warnOfRefusal("answered", incoming);
    return acknowledge(decision, incoming.multiplexed, isLast);
  }

  #begin(
    incoming: Incoming,
    id: string,
    deadline: Deadline,
    context?: FetchContext,
  ): Promise<ReceiveResult> {
    const { firstAttempts } = this.#runner;
    const attempted = context?.waitUntil === undefined ? null : firstAttempts.wait(id);
    const run = (given: Incoming): Promise<ReceiveResult> => this.#pipeline(given, id, deadline);
    const pending = this.#reporter.receive(incoming, id, run);
    try {
      context?.waitUntil?.(Promise.allSettled([pending, attempted]));
    } catch (error) {
      this.#failed({ error: describe(error) }, messages.waitUntilFailed);
    }
    return pending;
  }

  /** Whether this process will handle the delivery. */
  #isWorkedOn(id: string, decision: ReceiveResult): boolean {
    const isNew = "id" in decision && decision.id === id;
    return isNew && this.#settings.ack === "stored" && this.#runner.takesOn;
  }

  #unexpected(error: unknown): ReceiveResult {
    const fields = shownFields(error, this.#settings.redact);
    this.#failed(fields, messages.requestFailed);
    return { refused: "inbox_unavailable" };
  }
}
