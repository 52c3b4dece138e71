import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { WireOverview } from "../../src/deliveries/wire.ts";
import { count } from "../labels.ts";
import { useNow } from "../parts.tsx";

const minuteMs = 60_000;
const hourMs = 3_600_000;
const height = 100;

const outcomes = ["handled", "waiting", "parked", "rejected"] as const;

type Outcome = (typeof outcomes)[number];

/** The outcomes by the names of what is counted: states, and of hours the events that led to them. */
const outcomeOf: Readonly<Record<string, Outcome>> = {
  received: "waiting",
  verified: "waiting",
  handled: "handled",
  held: "parked",
  dead: "parked",
  rejected: "rejected",
};

/** The spans of time: how many bars each has, and how long one is. */
const spans = [
  { name: "1 h", title: "Received per minute", bars: 60, barMs: minuteMs },
  { name: "24 h", title: "Ended per hour", bars: 24, barMs: hourMs },
  { name: "7 d", title: "Ended per 6 hours", bars: 28, barMs: 6 * hourMs },
] as const;

type Span = (typeof spans)[number];

/** One bar of the chart; it begins at a time in milliseconds. */
type Bar = { readonly at: number } & Record<Outcome, number>;

/** The last hour, day or week; it moves on although nothing comes. */
export function Chart({ minutes, hours }: Pick<WireOverview, "minutes" | "hours">): JSX.Element {
  const [span, choose] = useState<Span>(spans[0]);
  const { title, barMs } = span;
  const now = useNow(barMs);
  const first = now - (span.bars - 1) * barMs;
  const bars = barsOf(span === spans[0] ? minutes : hours, barMs).filter(({ at }) => at >= first);
  const most = Math.max(0, ...bars.map((bar) => sum(outcomes.map((name) => bar[name]))));
  const sums = outcomes.map((name) => `${count(sum(bars.map((bar) => bar[name])))} ${name}`);
  return (
    <figure>
      <fieldset>
        <legend class="unseen">Span of time</legend>
        {spans.map((one) => (
          <label key={one.name}>
            <input type="radio" name="span" checked={one === span} onChange={() => choose(one)} />{" "}
            {one.name}
          </label>
        ))}
      </fieldset>
      <figcaption>
        <strong>{title}</strong>
        <p>
          Last {span.name}:{" "}
          {outcomes.map((name, index) => (
            <span key={name} class={`as-${name}`}>
              {sums[index]}
              {index < sums.length - 1 && ", "}
            </span>
          ))}
        </p>
      </figcaption>
      <svg
        viewBox={`0 0 ${span.bars} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}. Last ${span.name}: ${sums.join(", ")}`}
      >
        {bars.map((bar) => stackOf(bar, Math.round((bar.at - first) / barMs), most))}
      </svg>
      <p class="axis">
        <span>{startOf(first, span)}</span>
        <span>at most {count(most)}</span>
        <span>now</span>
      </p>
      <Table bars={bars} span={span} />
    </figure>
  );
}

/** Adds up what belongs to one bar. */
function barsOf(all: WireOverview["minutes" | "hours"], barMs: number): Bar[] {
  const found = new Map<number, Bar>();
  for (const one of all) {
    const at = Math.floor(new Date(one.at).getTime() / barMs) * barMs;
    const bar = found.get(at) ?? { at, handled: 0, waiting: 0, parked: 0, rejected: 0 };
    for (const [name, number] of Object.entries(one.counts)) {
      const outcome = outcomeOf[name.split("/", 1)[0] ?? ""];
      // In an hour it was an event: it has gone on.
      const isOver = name === "verified" && barMs >= hourMs;
      if (outcome !== undefined && !isOver) bar[outcome] += number;
    }
    found.set(at, bar);
  }
  return [...found.values()];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** The outcomes of one bar, one on the other; `most` is the number of the highest. */
function stackOf(bar: Bar, x: number, most: number): JSX.Element {
  let y = height;
  return (
    <g key={bar.at}>
      {outcomes.map((name) => {
        if (bar[name] === 0) return null;
        const tall = (bar[name] / most) * height;
        y -= tall;
        return (
          <rect key={name} class={`as-${name}`} x={x + 0.15} y={y} width="0.7" height={tall} />
        );
      })}
    </g>
  );
}

/** The numbers of the chart, for who can't see it. */
function Table({ bars, span }: { readonly bars: readonly Bar[]; readonly span: Span }) {
  return (
    <details>
      <summary>As a table</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">From (UTC)</th>
            {outcomes.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {bars.map((bar) => (
            <tr key={bar.at}>
              <th scope="row">{startOf(bar.at, span)}</th>
              {outcomes.map((name) => (
                <td key={name}>{count(bar[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function startOf(at: number, { barMs }: Span): string {
  const [day = "", time = ""] = new Date(at).toISOString().slice(5, 16).split("T");
  return barMs === minuteMs ? `${time} UTC` : `${day} ${time}`;
}
