import type { Health } from "@reporthook/core";
import {
  answerBounds,
  type Lookout,
  type Numbers,
  parkedReasons,
  problemKinds,
  samplesOf,
} from "@reporthook/core/store";
import { throttle } from "./shared-views.ts";
import type { ShownSource } from "./source.ts";

type Labels = Readonly<Record<string, string>>;
/** Values with their labels; those of a histogram also with the ends of their names. */
type Values = readonly (readonly [labels: Labels, value: number, end?: string])[];
type Write = (name: string, help: string, values: Values, type?: string) => void;

const services = ["ok", "unreachable", "refused", "failing", "unknown"] as const;
const severities = ["critical", "warning"] as const;
const counters = {
  deliveries: "Answers and state changes since the start of the process",
  "deliveries.deleted": "Parked deliveries deleted at the end of their retention",
  verdicts: "Verdicts of the service",
};
/** A time without deliveries: a summary of it counts no minutes. */
const noTime = { from: new Date(0), until: new Date(0) };
const noneParked = Object.fromEntries(parkedReasons.map((reason) => [reason, 0]));

/** Creates what measures a source, in the text format of Prometheus. Names and labels are those of @reporthook/opentelemetry. */
export function createSourceMetrics(source: ShownSource): () => Promise<string> {
  const { inbox, health, name: receiver, lookout } = source;
  const summed = throttle(() => inbox.summary(noTime));
  return async () => {
    let text = "";
    const write: Write = (name, help, values, type = "gauge") => {
      if (values.length === 0) return;
      text += `# HELP reporthook_${name} ${help}\n# TYPE reporthook_${name} ${type}\n`;
      for (const [own, value, end = ""] of values) {
        const labels = { ...own, messaging_system: "reporthook" };
        const of = labelsText({ ...labels, messaging_destination_name: receiver });
        text += `reporthook_${name}${end}{${of}} ${value}\n`;
      }
    };
    const judged = await health();
    writeState(judged, lookout, write);
    if (lookout?.numbers) writeNumbers(lookout.numbers, write);
    // An unknown count is not reported.
    if (!judged.inbox.ok || judged.countedAt === null) return text;
    const { counts, oldestWaitingMs } = judged;
    const { received, verified } = counts;
    const waiting = valuesOf("state", { received, verified });
    const oldest = (oldestWaitingMs ?? 0) / 1_000;
    const { parked } = await summed();
    const reasons = valuesOf("reason", { ...noneParked, ...parked });
    const requests = valuesOf("state", lookout?.look?.requests ?? {});
    write("deliveries_waiting", "Deliveries neither handled nor parked", waiting);
    write("deliveries_oldest_seconds", "Age of the oldest waiting delivery", [[{}, oldest]]);
    write("deliveries_parked", "Deliveries that wait for a person", reasons);
    write("deliveries_stored", "Deliveries in the inbox", valuesOf("state", counts));
    const help = "Requests for reports by state; overdue ones are counted twice";
    write("report_requests", help, requests);
    return text;
  };
}

/** Writes what is known of a source although its inbox may fail. */
function writeState(judged: Health, lookout: Lookout | null, write: Write): void {
  const { ready, inbox, service, problems } = judged;
  write("ready", "1 if the receiver accepts notifications, else 0", [[{}, Number(ready)]]);
  write("inbox_up", "1 if the inbox works, else 0", [[{}, Number(inbox.ok)]]);
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
  const processes = lookout?.processes.filter((one) => one.state !== "ended") ?? [];
  write(
    "process_silent_seconds",
    "Time since the last sign of life of each process on the inbox",
    processes.map(({ host, pid, version, since, seenAt }) => [
      { host, pid: String(pid), version, since: since.toISOString() },
      Math.max(0, Date.now() - seenAt.getTime()) / 1_000,
    ]),
  );
}

/** Writes the numbers of this process. */
function writeNumbers(numbers: Numbers, write: Write): void {
  const samples = samplesOf(numbers);
  for (const [name, help] of Object.entries(counters)) {
    const values = samples.filter((sample) => sample.name === name);
    const labelled = values.map(({ labels, value }) => [prefixed(labels), value] as const);
    write(`${name.replace(".", "_")}_total`, help, labelled, "counter");
  }
  const { buckets, seconds } = numbers.answers;
  let count = 0;
  const upTo = [...answerBounds, "+Inf"].map((bound, index) => {
    count += buckets[index] ?? 0;
    return [{ le: String(bound) }, count, "_bucket"] as const;
  });
  write(
    "acknowledge_duration_seconds",
    "From the arrival of a notification until its answer is decided, storing included",
    [...upTo, [{}, seconds, "_sum"], [{}, count, "_count"]],
    "histogram",
  );
}

function valuesOf(label: string, numbers: Readonly<Record<string, number>>): Values {
  return Object.entries(numbers).map(([name, value]) => [prefixed({ [label]: name }), value]);
}

function prefixed(own: Labels): Labels {
  return Object.fromEntries(Object.entries(own).map(([name, of]) => [`reporthook_${name}`, of]));
}

function labelsText(labels: Labels): string {
  const escaped = (text: string): string => text.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
  return Object.entries(labels)
    .map(([name, of]) => `${name}="${escaped(of)}"`)
    .join(",");
}
