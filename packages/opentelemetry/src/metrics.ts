import type { Attributes, BatchObservableCallback, Meter } from "@opentelemetry/api";
import type {
  Authorization,
  Instrument,
  Instrumentation,
  ReceiveResult,
} from "@reporthook/core/telemetry";
import { errorType, names } from "./names.ts";

/** Measures the steps of one receiver; each method returns the result of the step. */
export interface Measured extends Pick<Instrumentation, "settled" | "end"> {
  receive(run: () => Promise<ReceiveResult>): Promise<ReceiveResult>;
  verify(run: () => Promise<Authorization>): Promise<Authorization>;
  handle(run: () => Promise<readonly unknown[]>): Promise<readonly unknown[]>;
}

const seconds = {
  unit: "s",
  advice: {
    explicitBucketBoundaries: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 60, 300],
  },
};

/** Creates the metrics of one receiver. */
export function createMetrics(meter: Meter, receiver: Parameters<Instrument>[0]): Measured {
  const acknowledge = meter.createHistogram("reporthook.acknowledge.duration", {
    ...{
      description: "From the arrival of a notification until its answer is decided",
      ...seconds,
    },
  });
  const authorize = meter.createHistogram("reporthook.authorize.duration", {
    ...{ description: "Duration of authorize calls", ...seconds },
  });
  const process = meter.createHistogram("messaging.process.duration", {
    ...{ description: "Duration of all handlers of an attempt", ...seconds },
  });
  const deliveries = meter.createCounter("reporthook.deliveries", {
    ...{ unit: "{delivery}", description: "Answers and state changes" },
  });
  const waiting = meter.createObservableUpDownCounter("reporthook.deliveries.waiting", {
    ...{ unit: "{delivery}", description: "Deliveries neither handled nor parked" },
  });
  const oldest = meter.createObservableGauge("reporthook.deliveries.oldest", {
    ...{ unit: "s", description: "Age of the oldest waiting delivery" },
  });
  const base: Attributes = { [names.system]: "reporthook", [names.receiver]: receiver.name };
  const observed = [waiting, oldest];

  async function timed<T>(
    histogram: { record(value: number, attributes: Attributes): void },
    run: () => Promise<T>,
    attributesOf: (result: T) => Attributes,
    attributesOfFailure = (): Attributes => ({ [names.error]: "_OTHER" }),
  ): Promise<T> {
    const start = performance.now();
    const record = (attributes: Attributes): void =>
      histogram.record((performance.now() - start) / 1_000, { ...base, ...attributes });
    try {
      const result = await run();
      record(attributesOf(result));
      return result;
    } catch (error) {
      record(attributesOfFailure());
      throw error;
    }
  }

  const count = (outcome: string): void => deliveries.add(1, { ...base, [names.outcome]: outcome });
  const answered = (outcome: string): Attributes => {
    count(outcome);
    return { [names.outcome]: outcome };
  };

  const observe: BatchObservableCallback = async (result) => {
    const { counts, oldestWaitingMs, inbox } = await receiver.health();
    // An unknown or outdated count is not reported.
    if (!inbox.ok || inbox.error !== undefined) return;
    for (const state of ["received", "verified"] as const) {
      result.observe(waiting, counts[state], { ...base, [names.state]: state });
    }
    result.observe(oldest, (oldestWaitingMs ?? 0) / 1_000, base);
  };
  meter.addBatchObservableCallback(observe, observed);

  return {
    receive: (run) =>
      timed(
        acknowledge,
        run,
        (decision) => answered("refused" in decision ? decision.refused : decision.status),
        () => answered("inbox_unavailable"),
      ),
    verify: (run) =>
      timed(authorize, run, (answer) => ({
        [names.verdict]: answer.verdict ?? "none",
        ...(answer.verdict === null && { [names.error]: errorType(answer.error) }),
      })),
    handle: (run) =>
      timed(process, run, (failures) => ({
        [names.operation]: "process",
        ...(failures.length > 0 && { [names.error]: errorType(failures[0]) }),
      })),
    settled(_job, { to }) {
      if (to !== "retry") count(to);
    },
    end() {
      meter.removeBatchObservableCallback(observe, observed);
    },
  };
}
