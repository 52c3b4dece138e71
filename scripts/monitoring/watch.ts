import { alertDefaults } from "../../packages/core/src/observe/alerts.ts";

/** Something to watch. This table is the source of the one in docs/operating.md, of the alert rules and of the Grafana dashboard. */
export interface WatchItem {
  /** The name of its alerts. */
  readonly alert: string;
  readonly question: string;
  /** Where an app finds it, in Markdown. */
  readonly where: string;
  /** Its PromQL expression, now or as it was so long ago. */
  readonly measure: (ago?: string) => string;
  readonly unit: Unit;
  readonly warning?: Level;
  readonly critical?: Level;
  /** What it means, in a sentence. */
  readonly means: string;
  /** What to do, in a sentence of Markdown. */
  readonly todo: string;
  /** The section that explains it. */
  readonly runbook: string;
}

/** What a measure counts; `yes` is 1 or 0. */
export type Unit = "seconds" | "deliveries" | "yes";

/** When somebody is told: the measure is above, below, or so much more than it was. */
export type Level = {
  /** Minutes that it has to last. */
  readonly forMin: number;
  /** Another condition, and its words. */
  readonly only?: { readonly expr: string; readonly says: string };
} & (
  | { readonly above: number }
  | { readonly below: number }
  | { readonly rise: number; readonly within: "10m" | "1d" }
);

/** An alert of a level. */
export interface Rule extends WatchItem {
  readonly severity: "warning" | "critical";
  readonly level: Level;
}

const labels = "job, messaging_destination_name";

/** The worst of all instances of a receiver. */
function worst(metric: string, more = ""): (ago?: string) => string {
  return (ago) =>
    `max by (${labels}${more}) (${metric}${ago === undefined ? "" : ` offset ${ago}`})`;
}

const isStatus = (status: string): string =>
  `reporthook_service_status{reporthook_status="${status}"}`;
// The exporter of OpenTelemetry for JavaScript writes no unit into the name; its Collector and Prometheus itself do.
const acknowledged = '{__name__=~"reporthook_acknowledge_duration(_seconds)?_bucket"}';
const operating = "docs/operating.md";

/** All that is to be watched, the most urgent first. */
export const watches: readonly WatchItem[] = [
  {
    alert: "ReporthookMissing",
    question: "Is the app down?",
    where: "your health route",
    measure: () => "absent(reporthook_ready)",
    unit: "yes",
    critical: { above: 0, forMin: 2 },
    means: "no receiver is measured",
    todo: "Start the app. If it runs, find out why monitoring cannot reach it.",
    runbook: "docs/monitoring.md#prometheus",
  },
  {
    alert: "ReporthookNotReady",
    question: "Does it accept notifications?",
    where: "`health().ready`",
    measure: () => `min by (${labels}) (reporthook_ready)`,
    unit: "yes",
    critical: { below: 1, forMin: 1 },
    means: "notifications are answered 503",
    todo: "See [when the inbox fails](#when-the-inbox-fails).",
    runbook: `${operating}#when-the-inbox-fails`,
  },
  {
    alert: "ReporthookSlowAnswers",
    question: "Are 99 of 100 answered in time?",
    where: "your proxy; `ms` in the log",
    measure: () => `histogram_quantile(0.99, sum by (${labels}, le) (rate(${acknowledged}[5m])))`,
    unit: "seconds",
    warning: { above: 1, forMin: 5 },
    critical: { above: 3, forMin: 5 },
    means: "1 in 100 notifications is answered late, and the sender gives up at 5 s",
    todo: "Check the disk of the inbox, and the proxies and middleware before the receiver.",
    runbook: `${operating}#when-the-inbox-fails`,
  },
  {
    alert: "ReporthookKeyRefused",
    question: "Is the API key refused?",
    where: "`health().service`",
    measure: worst(isStatus("refused")),
    unit: "yes",
    critical: { above: 0, forMin: 2 },
    means: "the service refuses the API key, and signatures expire after 5 minutes",
    todo: "Set the right key: signatures expire after 5 minutes.",
    runbook: "docs/logs.md#the-service",
  },
  {
    alert: "ReporthookServiceUnreachable",
    question: "Is the service down?",
    where: "`health().service`",
    measure: worst(isStatus("unreachable")),
    unit: "yes",
    warning: { above: 0, forMin: 2 },
    means: "the service gives no verdict",
    todo: "Check `baseUrl` and the network. Afterwards look for `held` deliveries.",
    runbook: "docs/logs.md#the-service",
  },
  {
    alert: "ReporthookVerificationBehind",
    question: "Does verification keep up?",
    where: "`summary().oldest.received`",
    measure: worst("reporthook_deliveries_oldest_unverified_seconds"),
    unit: "seconds",
    warning: { above: 60, forMin: 1 },
    critical: {
      above: 180,
      forMin: 0,
      only: {
        expr: `on (${labels}) ${worst(isStatus("ok"))()} == 1`,
        says: "while the service answers",
      },
    },
    means: "a delivery waits for its verdict, and its signature expires after 5 minutes",
    todo: "Raise `concurrency.verify`: see [sizing](#sizing).",
    runbook: `${operating}#sizing`,
  },
  {
    alert: "ReporthookHandlersBehind",
    question: "Do handlers keep up?",
    where: "`health().oldestWaitingMs`",
    measure: worst("reporthook_deliveries_oldest_seconds"),
    unit: "seconds",
    warning: { above: alertDefaults.oldestWaitingMs / 1_000, forMin: 1 },
    critical: { above: 3_600, forMin: 1 },
    means: "a delivery waits for its handlers; the last of 10 attempts comes after about 8 minutes",
    todo: "Check the handlers' errors, then [sizing](#sizing).",
    runbook: `${operating}#sizing`,
  },
  {
    alert: "ReporthookBacklog",
    question: "How many deliveries wait?",
    where: "`counts.received + counts.verified`",
    measure: () =>
      `max by (${labels}) (sum without (reporthook_state) (reporthook_deliveries_waiting))`,
    unit: "deliveries",
    warning: { above: alertDefaults.waiting, forMin: 1 },
    critical: { above: 50_000, forMin: 1 },
    means: "deliveries wait; at `limits.waiting` (100,000) notifications are answered 503",
    todo: "Raise `concurrency`: see [sizing](#sizing).",
    runbook: `${operating}#sizing`,
  },
  {
    alert: "ReporthookParked",
    question: "Are deliveries parked?",
    where: "`summary().parked`",
    measure: worst("reporthook_deliveries_parked", ", reporthook_reason"),
    unit: "deliveries",
    warning: { rise: alertDefaults.parked, within: "1d", forMin: 0 },
    critical: { rise: 10, within: "10m", forMin: 0 },
    means: "deliveries are parked for one reason",
    todo: "Fix the cause, then release or discard: see [what is parked](#what-is-parked).",
    runbook: `${operating}#what-is-parked`,
  },
  {
    alert: "ReporthookForged",
    question: "Are notifications rejected?",
    where: "`counts.rejected`",
    measure: worst('reporthook_deliveries_stored{reporthook_state="rejected"}'),
    unit: "deliveries",
    warning: { rise: 10, within: "1d", forMin: 0 },
    means: "the service did not make these signatures",
    todo: "Nothing. But if all are rejected, fix `apiKey` or `baseUrl` at once.",
    runbook: `${operating}#invalid_signature-forged`,
  },
];

/** Two alerts of those that have two levels. */
export const rules: readonly Rule[] = watches.flatMap((watch) =>
  (["warning", "critical"] as const).flatMap((severity) => {
    const { [severity]: level } = watch;
    return level === undefined ? [] : [{ ...watch, severity, level }];
  }),
);
