import type { Outcome, Plan } from "./deployment.ts";

const head = [
  "framework",
  "processes",
  "a second",
  "connections",
  "restarts",
  "sent",
  "200",
  "503",
  "other answers",
  "reset",
  "refused",
  "lost",
  "ended by themselves",
  "median, slowest end in ms",
];

/** A row of the table that a long run prints. */
export function rowOf({ connections, framework, way, perSecond }: Plan, outcome: Outcome): string {
  const { answers, ended, lost, refused, reset, sent } = outcome;
  const { 200: accepted = 0, 503: unavailable = 0, ...rest } = answers;
  const others = Object.values(rest).reduce((sum, count) => sum + count, 0);
  const inPeace = ended.filter(({ code }) => code === 0).length;
  const times = ended.map(({ ms }) => ms).sort((a, b) => a - b);
  const median = times[times.length >> 1] ?? 0;
  return rowWith([
    framework,
    way,
    perSecond,
    connections,
    ended.length,
    sent,
    accepted,
    unavailable,
    others,
    reset.length,
    refused,
    lost.length,
    inPeace,
    `${median}, ${times.at(-1) ?? 0}`,
  ]);
}

/** All of them under their head, as Markdown. */
export function tableOf(rows: readonly string[]): string {
  return ["", rowWith(head), rowWith(head.map(() => "---")), ...rows, ""].join("\n");
}

function rowWith(cells: readonly (number | string)[]): string {
  return `| ${cells.join(" | ")} |`;
}
