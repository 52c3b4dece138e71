import { type Level, type Unit, type WatchItem, watches } from "./watch.ts";

// A variable of the dashboard.
const datasource = { type: "prometheus", uid: "$datasource" };
const units: Readonly<Record<Unit, string>> = {
  seconds: "s",
  deliveries: "short",
  yes: "bool_yes_no",
};
const size = { w: 8, h: 8 };

/** The dashboard, for the import of Grafana: a panel for each thing to watch, and one for all states. */
export function grafanaFile(): string {
  const panels = [
    ...watches.map((watch) => ({
      title: watch.question,
      description: watch.means,
      unit: units[watch.unit],
      steps: stepsOf(watch),
      expr: watch.measure(),
      legend: legendOf(watch),
    })),
    {
      title: "Deliveries by state",
      description: "handled deliveries are kept 7 days",
      unit: "short",
      steps: stepsOf({}),
      expr: "max by (job, messaging_destination_name, reporthook_state) (reporthook_deliveries_stored)",
      legend: "{{messaging_destination_name}} {{reporthook_state}}",
    },
  ];
  const dashboard = {
    title: "reporthook",
    uid: "reporthook",
    schemaVersion: 39,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: { list: [{ name: "datasource", type: "datasource", query: "prometheus" }] },
    panels: panels.map(({ title, description, unit, steps, expr, legend }, index) => ({
      id: index + 1,
      type: "timeseries",
      title,
      description,
      datasource,
      gridPos: { ...size, x: (index % 3) * size.w, y: Math.floor(index / 3) * size.h },
      fieldConfig: {
        defaults: {
          unit,
          min: 0,
          thresholds: { mode: "absolute", steps },
          custom: { thresholdsStyle: { mode: steps.length > 1 ? "line" : "off" } },
        },
        overrides: [],
      },
      targets: [{ refId: "A", datasource, expr, legendFormat: legend }],
    })),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function legendOf({ measure }: WatchItem): string {
  const reason = measure().includes("reporthook_reason") ? " {{reporthook_reason}}" : "";
  return `{{messaging_destination_name}}${reason}`;
}

/** The lines of a panel: what is above the first is fine. */
function stepsOf({ warning, critical }: Pick<WatchItem, "warning" | "critical">): object[] {
  const line = (level: Level | undefined, color: string): object[] =>
    level !== undefined && "above" in level ? [{ color, value: level.above }] : [];
  return [{ color: "green", value: null }, ...line(warning, "orange"), ...line(critical, "red")];
}
