import { parkedReasons, states } from "@reporthook/core/store";
import { throttle } from "./shared-views.ts";
import type { Source } from "./source.ts";
import { noTime } from "./views.ts";

/** The measures of a source at this moment. */
export interface Metrics {
  readonly contentType: string;
  readonly text: string;
}

type Values = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

const services = ["ok", "unreachable", "refused", "unknown"] as const;

/** Creates what measures a source, in the text format of Prometheus. */
export function createSourceMetrics({
  inbox,
  health,
  name = "reports",
}: Source): () => Promise<Metrics> {
  const summed = throttle(() => inbox.summary(noTime));
  return async () => {
    const { ready, inbox: state, service, counts, oldestWaitingMs } = await health();
    const { gauge, end } = await registryOf(name);
    const yes = (is: boolean): Values => [[{}, Number(is)]];
    gauge("ready", "1 if the receiver accepts notifications, else 0", yes(ready));
    gauge("inbox_up", "1 if the inbox works, else 0", yes(state.ok));
    gauge(
      "service_status",
      "1 for how the service answered last, 0 for the others",
      services.map((each) => [{ reporthook_status: each }, Number(each === service)]),
    );
    // An unknown or outdated count is not reported.
    if (!state.ok || state.error !== undefined) return await end();
    const { parked, oldest } = await summed();
    const inStates = (some: typeof states): Values =>
      some.map((each) => [{ reporthook_state: each }, counts[each]]);
    const reasons = parkedReasons.map(
      (each) => [{ reporthook_reason: each }, parked[each] ?? 0] as const,
    );
    const waiting = inStates(["received", "verified"]);
    const unverifiedMs = oldest.received === null ? 0 : Date.now() - oldest.received.getTime();
    gauge("deliveries_waiting", "Deliveries neither handled nor parked", waiting);
    gauge("deliveries_oldest_seconds", "Age of the oldest waiting delivery", age(oldestWaitingMs));
    gauge(
      "deliveries_oldest_unverified_seconds",
      "Age of the oldest delivery that waits for its verdict",
      age(unverifiedMs),
    );
    gauge("deliveries_parked", "Deliveries that wait for a person", reasons);
    gauge("deliveries_stored", "Deliveries in the inbox", inStates(states));
    return await end();
  };
}

function age(ms: number | null): Values {
  return [[{}, Math.max(0, ms ?? 0) / 1_000]];
}

/** Labels and names are the same as of @reporthook/opentelemetry in Prometheus. */
async function registryOf(receiver: string): Promise<{
  gauge(name: string, help: string, values: Values): void;
  end(): Promise<Metrics>;
}> {
  // Loaded with the first scrape: the page needs none of it.
  const { Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  registry.setDefaultLabels({
    messaging_system: "reporthook",
    messaging_destination_name: receiver,
  });
  return {
    gauge(name, help, values) {
      const labelNames = Object.keys(values[0]?.[0] ?? {});
      const registers = [registry];
      const metric = new Gauge({ name: `reporthook_${name}`, help, labelNames, registers });
      for (const [labels, value] of values) metric.set(labels, value);
    },
    end: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}
