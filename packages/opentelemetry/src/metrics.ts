import type { Attributes, BatchObservableCallback, Histogram, Meter } from "@opentelemetry/api";
import type { Authorization, Instrument, Instrumentation } from "@reporthook/core/telemetry";
import { answerBounds, samplesOf } from "@reporthook/core/telemetry";
import { errorType, names } from "./names.ts";

/** Measures the steps of one receiver: each method gets when the step began and its result, or null if it threw. */
export interface Measured extends Required<Pick<Instrumentation, "end">> {
  received(startedAt: number, outcome: string): void;
  verified(startedAt: number, answer: Authorization | null): void;
  handled(startedAt: number, failures: readonly unknown[] | null): void;
}

/** Of an answer, as in the metrics of the dashboard; of work, which may take longer. */
const inSeconds = (...longer: readonly number[]) => ({
  unit: "s",
  advice: { explicitBucketBoundaries: [...answerBounds, ...longer] },
});

/** Creates the metrics of one receiver. */
export function createMetrics(meter: Meter, receiver: Parameters<Instrument>[0]): Measured {
  const { acknowledge, authorize, process, counters, waiting, oldest, problem, requests } =
    instrumentsOf(meter);
  const base: Attributes = { [names.system]: "reporthook", [names.receiver]: receiver.name };
  const observed = [waiting, oldest, problem, requests];

  const attributesOfOutcome = cached((outcome) => ({ ...base, [names.outcome]: outcome }));
  const attributesOfVerdict = cached((verdict) => ({ ...base, [names.verdict]: verdict }));
  const attributesOfSuccess: Attributes = { ...base, [names.operation]: "process" };
  // The numbers of the receiver are added at each look: an SDK looks up the attributes of each call.
  const added = new Map<string, number>();
  const addCounted = (): void => {
    const { numbers } = receiver.lookout;
    for (const { name, labels, value } of numbers === null ? [] : samplesOf(numbers)) {
      const key = JSON.stringify([name, labels]);
      const before = added.get(key) ?? 0;
      added.set(key, value);
      const own = Object.entries(labels).map(([label, of]) => [`reporthook.${label}`, of]);
      if (value > before)
        counters[name].add(value - before, { ...base, ...Object.fromEntries(own) });
    }
  };

  const observe: BatchObservableCallback = async (result) => {
    addCounted();
    const { counts, oldestWaitingMs, countedAt, problems } = await receiver.lookout.health();
    for (const { code, severity } of problems) {
      result.observe(problem, 1, { ...base, code, severity });
    }
    if (countedAt === null) return;
    for (const state of ["received", "verified"] as const) {
      result.observe(waiting, counts[state], { ...base, [names.state]: state });
    }
    result.observe(oldest, (oldestWaitingMs ?? 0) / 1_000, base);
    for (const [state, count] of Object.entries(receiver.lookout.look?.requests ?? {})) {
      result.observe(requests, count, { ...base, [names.state]: state });
    }
  };
  meter.addBatchObservableCallback(observe, observed);

  return {
    received(startedAt, outcome) {
      recordSince(startedAt, acknowledge, attributesOfOutcome(outcome));
    },
    verified(startedAt, answer) {
      const verdict = attributesOfVerdict(answer?.verdict ?? "none");
      const attributes = answer?.verdict ? verdict : withError(verdict, errorType(answer?.error));
      recordSince(startedAt, authorize, attributes);
    },
    handled(startedAt, failures) {
      const hasSucceeded = failures?.length === 0;
      const attributes = hasSucceeded
        ? attributesOfSuccess
        : withError(attributesOfSuccess, errorType(failures?.[0]));
      recordSince(startedAt, process, attributes);
    },
    end() {
      addCounted();
      meter.removeBatchObservableCallback(observe, observed);
    },
  };
}

/** The instruments of one receiver. */
function instrumentsOf(meter: Meter) {
  const deliveryCount = (description: string) => ({ unit: "{delivery}", description });
  return {
    acknowledge: meter.createHistogram("reporthook.acknowledge.duration", {
      description: "From the arrival of a notification until its answer is decided",
      ...inSeconds(),
    }),
    authorize: meter.createHistogram("reporthook.authorize.duration", {
      description: "Duration of authorize calls",
      ...inSeconds(60, 300),
    }),
    process: meter.createHistogram("messaging.process.duration", {
      description: "Duration of all handlers of an attempt",
      ...inSeconds(60, 300),
    }),
    counters: {
      deliveries: meter.createCounter(
        "reporthook.deliveries",
        deliveryCount("Answers and state changes"),
      ),
      "deliveries.deleted": meter.createCounter(
        "reporthook.deliveries.deleted",
        deliveryCount("Parked deliveries deleted at the end of their retention"),
      ),
      verdicts: meter.createCounter("reporthook.verdicts", {
        unit: "{verdict}",
        description: "Verdicts of the service",
      }),
    },
    problem: meter.createObservableGauge("reporthook.problem", {
      description: "1 for each problem that health() shows",
    }),
    waiting: meter.createObservableUpDownCounter(
      "reporthook.deliveries.waiting",
      deliveryCount("Deliveries neither handled nor parked"),
    ),
    requests: meter.createObservableGauge("reporthook.report_requests", {
      unit: "{request}",
      description: "Requests for reports by state; overdue ones are counted twice",
    }),
    oldest: meter.createObservableGauge("reporthook.deliveries.oldest", {
      unit: "s",
      description: "Age of the oldest waiting delivery",
    }),
  };
}

function withError(attributes: Attributes, type: string): Attributes {
  return { ...attributes, [names.error]: type };
}

function recordSince(startedAt: number, histogram: Histogram, attributes: Attributes): void {
  histogram.record((performance.now() - startedAt) / 1_000, attributes);
}

/** Remembers the attributes of each of a few values. */
function cached(create: (value: string) => Attributes): (value: string) => Attributes {
  const known = new Map<string, Attributes>();
  return (value) => {
    const found = known.get(value) ?? create(value);
    known.set(value, found);
    return found;
  };
}
