import {
  answerBounds,
  type Numbers,
  parkedReasons,
  problemKinds,
  samplesOf,
  states,
} from "@reporthook/core/store";
import { throttle } from "./shared-views.ts";
import { insideOf, type Source } from "./source.ts";
import { noTime } from "./views.ts";

/** The measures of a source at this moment. */
export interface Metrics {
  readonly contentType: string;
  readonly text: string;
}

type Labels = Readonly<Record<string, string>>;
type Values = readonly (readonly [labels: Labels, value: number])[];

const services = ["ok", "unreachable", "refused", "failing", "unknown"] as const;
const severities = ["critical", "warning"] as const;
const counters = {
  deliveries: "Answers and state changes since the start of the process",
  "deliveries.deleted": "Parked deliveries deleted at the end of their retention",
  verdicts: "Verdicts of the service",
};

/** Creates what measures a source, in the text format of Prometheus. Names and labels are those of @reporthook/opentelemetry. */
export function createSourceMetrics(source: Source): () => Promise<Metrics> {
  const { inbox, health, name = "reports" } = source;
  const seen = insideOf(source);
  const summed = throttle(() => inbox.summary(noTime));
  return async () => {
    const { ready, inbox: state, service, problems, ...known } = await health();
    const { write, measure, end } = await registryOf(name);
    const yes = (is: boolean): Values => [[{}, Number(is)]];
    write("ready", "1 if the receiver accepts notifications, else 0", yes(ready));
    write("inbox_up", "1 if the inbox works, else 0", yes(state.ok));
    write(
      "service_status",
      "1 for how the service answered last, 0 for the others",
      services.map((each) => [{ reporthook_status: each }, Number(each === service)]),
    );
    write(
      "problem",
      "1 for each problem that health() shows, 0 for the others",
      problemKinds.flatMap((code) =>
        severities.map((severity) => {
          const is = problems.some((one) => one.code === code && one.severity === severity);
          return [{ code, severity }, Number(is)] as const;
        }),
      ),
    );
    const processes = seen?.processes.filter((one) => one.state !== "ended") ?? [];
    write(
      "process_silent_seconds",
      "Time since the last sign of life of each process on the inbox",
      processes.map(({ host, pid, version, since, seenAt }) => [
        { host, pid: String(pid), version, since: since.toISOString() },
        Math.max(0, Date.now() - seenAt.getTime()) / 1_000,
      ]),
    );
    const numbers = seen?.numbers ?? null;
    if (numbers !== null) measure(numbers);
    // An unknown count is not reported.
    if (!state.ok || known.countedAt === null) return await end();
    const { counts, oldestWaitingMs } = known;
    const { parked } = await summed();
    const inStates = (some: typeof states): Values =>
      some.map((each) => [{ reporthook_state: each }, counts[each]]);
    const reasons = parkedReasons.map(
      (each) => [{ reporthook_reason: each }, parked[each] ?? 0] as const,
    );
    const waiting = inStates(["received", "verified"]);
    const oldest: Values = [[{}, (oldestWaitingMs ?? 0) / 1_000]];
    write("deliveries_waiting", "Deliveries neither handled nor parked", waiting);
    write("deliveries_oldest_seconds", "Age of the oldest waiting delivery", oldest);
    write("deliveries_parked", "Deliveries that wait for a person", reasons);
    write("deliveries_stored", "Deliveries in the inbox", inStates(states));
    const requests = Object.entries(seen?.look?.requests ?? {});
    const requested = requests.map(([each, count]) => [{ reporthook_state: each }, count] as const);
    const help = "Requests for reports by state; overdue ones are counted twice";
    if (requested.length > 0) write("report_requests", help, requested);
    return await end();
  };
}

async function registryOf(receiver: string) {
  // Loaded with the first scrape: the page needs none of it.
  const { Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const labels = { messaging_system: "reporthook", messaging_destination_name: receiver };
  registry.setDefaultLabels(labels);
  const settingsOf = (name: string, help: string, values: Values) => {
    const labelNames = [...new Set(values.flatMap(([own]) => Object.keys(own)))];
    return { name: `reporthook_${name}`, help, labelNames, registers: [registry] };
  };
  let histogram = "";
  return {
    write(name: string, help: string, values: Values): void {
      const metric = new Gauge(settingsOf(name, help, values));
      for (const [own, value] of values) metric.set(own, value);
    },
    measure(numbers: Numbers): void {
      const samples = samplesOf(numbers);
      for (const [name, help] of Object.entries(counters)) {
        const values = samples
          .filter((sample) => sample.name === name)
          .map((sample) => [labelsOf(sample.labels), sample.value] as const);
        const metric = new Counter(settingsOf(`${name.replace(".", "_")}_total`, help, values));
        for (const [own, value] of values) metric.inc(own, value);
      }
      histogram = histogramOf(numbers.answers, labels);
    },
    end: async (): Promise<Metrics> => ({
      contentType: registry.contentType,
      text: (await registry.metrics()) + histogram,
    }),
  };
}

function labelsOf(own: Readonly<Record<string, string>>): Labels {
  return Object.fromEntries(Object.entries(own).map(([name, of]) => [`reporthook_${name}`, of]));
}

/** Of numbers that were counted elsewhere, prom-client makes no histogram. */
function histogramOf({ buckets, seconds }: Numbers["answers"], labels: Labels): string {
  const name = "reporthook_acknowledge_duration_seconds";
  const fixed = Object.entries(labels).map(([label, of]) => `${label}="${of}"`);
  let count = 0;
  const lines = [...answerBounds, "+Inf"].map((bound, index) => {
    count += buckets[index] ?? 0;
    return `${name}_bucket{${[...fixed, `le="${bound}"`].join(",")}} ${count}`;
  });
  return [
    `\n# HELP ${name} From the arrival of a notification until its answer is decided, storing included`,
    `# TYPE ${name} histogram`,
    ...lines,
    `${name}_sum{${fixed.join(",")}} ${seconds}`,
    `${name}_count{${fixed.join(",")}} ${count}\n`,
  ].join("\n");
}
