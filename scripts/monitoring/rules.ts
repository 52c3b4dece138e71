import { type Rule, rules, type Unit } from "./watch.ts";

/** The alert rules, for `rule_files` of Prometheus. */
export function rulesFile(): string {
  const lines = [
    "# Generated from the table of scripts/monitoring/watch.ts: pnpm monitoring",
    "groups:",
    "  - name: reporthook",
    "    rules:",
    ...rules.flatMap((rule) => [
      `      - alert: ${rule.alert}`,
      `        expr: ${quoted(expressionOf(rule))}`,
      `        for: ${rule.level.forMin}m`,
      `        labels: { severity: ${rule.severity} }`,
      "        annotations:",
      `          summary: ${quoted(summaryOf(rule))}`,
      `          description: ${quoted(plain(rule.todo))}`,
      `          runbook: ${quoted(rule.runbook)}`,
    ]),
  ];
  return `${lines.join("\n")}\n`;
}

/** When an alert fires. */
function expressionOf({ measure, level }: Pick<Rule, "measure" | "level">): string {
  const only = level.only === undefined ? "" : ` and ${level.only.expr}`;
  if ("rise" in level) {
    // A day ago nothing may have been measured; then all of them are more.
    const before =
      level.within === "1d" ? `(${measure("1d")} or ${measure()} * 0)` : measure(level.within);
    return `${measure()} - ${before} >= ${level.rise}${only}`;
  }
  const compared = "above" in level ? `> ${level.above}` : `< ${level.below}`;
  return `${measure()} ${compared}${only}`;
}

function summaryOf({ means, unit, level, measure }: Rule): string {
  const who = "{{ with $labels.messaging_destination_name }}{{ . }}: {{ end }}";
  const reason = measure().includes("reporthook_reason")
    ? " ({{ $labels.reporthook_reason }})"
    : "";
  const more = "rise" in level ? " more" : "";
  return `${who}${plain(means)}${reason}${values[unit].replace("#", more)}`;
}

const values: Readonly<Record<Unit, string>> = {
  seconds: ", now {{ $value | humanizeDuration }}",
  deliveries: ", now {{ $value }}#",
  yes: "",
};

/** Markdown without its marks. */
function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");
}

/** A text of YAML. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
