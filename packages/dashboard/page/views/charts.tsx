import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { WireBar, WireOverview } from "../../src/deliveries/wire.ts";
import { count } from "../labels.ts";
import { useNow, utcTime } from "../parts.tsx";

const minuteMs = 60_000;
const hourMs = 3_600_000;
const height = 100;

const outcomes = ["handled", "waiting", "parked", "rejected"] as const;

type Outcomes = Record<(typeof outcomes)[number], number>;

/** A span of time: how many bars it has, and how long each is. */
interface Span {
  readonly name: string;
  readonly title: string;
  readonly bars: number;
  readonly barMs: number;
}

const spans: readonly Span[] = [
  { name: "1 h", title: "Received per minute", bars: 60, barMs: minuteMs },
  { name: "24 h", title: "Ended per hour", bars: 24, barMs: hourMs },
  { name: "7 d", title: "Ended per 6 hours", bars: 28, barMs: 6 * hourMs },
];

/** One bar of the chart. */
interface Bar {
  /** The beginning, in milliseconds. */
  readonly at: number;
  readonly numbers: Outcomes;
}

/** The last hour, day or week; it moves on although nothing comes. */
export function Chart({ minutes, hours }: Pick<WireOverview, "minutes" | "hours">): JSX.Element {
  const [chosen, choose] = useState(0);
  const span = spans[chosen] as Span;
  const { title, barMs } = span;
  const now = useNow(barMs);
  const first = now - (span.bars - 1) * barMs;
  const bars = barsOf(chosen === 0 ? minutes : hours, barMs).filter(({ at }) => at >= first);
  const most = Math.max(0, ...bars.map(({ numbers }) => sum(Object.values(numbers))));
  const sums = outcomes.map((name) => {
    const all = sum(bars.map(({ numbers }) => numbers[name]));
    return { name, text: `${count(all)} ${name}` };
  });
  const text = sums.map((one) => one.text).join(", ");
  return (
    <figure>
      <fieldset>
        <legend class="unseen">Span of time</legend>
        {spans.map(({ name }, index) => (
          <label key={name}>
            <input
              type="radio"
              name="span"
              checked={index === chosen}
              onChange={() => choose(index)}
            />{" "}
            {name}
          </label>
        ))}
      </fieldset>
      <figcaption>
        <strong>{title}</strong>
        <p>
          Last {span.name}:{" "}
          {sums.map((one, index) => (
            <span key={one.name} class={`as-${one.name}`}>
              {one.text}
              {index < sums.length - 1 && ", "}
            </span>
          ))}
        </p>
      </figcaption>
      <svg
        viewBox={`0 0 ${span.bars} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}. Last ${span.name}: ${text}`}
      >
        {bars.map(({ at, numbers }) => (
          <Stack
            key={at}
            numbers={numbers}
            x={Math.round((at - first) / barMs)}
            most={Math.max(1, most)}
          />
        ))}
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
function barsOf(all: readonly WireBar[], barMs: number): Bar[] {
  const found = new Map<number, Bar>();
  for (const one of all) {
    const at = Math.floor(new Date(one.at).getTime() / barMs) * barMs;
    const bar = found.get(at) ?? {
      at,
      numbers: { handled: 0, waiting: 0, parked: 0, rejected: 0 },
    };
    for (const name of outcomes) bar.numbers[name] += one[name];
    found.set(at, bar);
  }
  return [...found.values()];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** The outcomes of one bar, one on the other. */
function Stack({
  numbers,
  x,
  most,
}: Pick<Bar, "numbers"> & { readonly x: number; readonly most: number }): JSX.Element {
  let y = height;
  return (
    <g>
      {outcomes.map((name) => {
        const tall = (numbers[name] / most) * height;
        y -= tall;
        if (tall === 0) return null;
        return (
          <rect key={name} class={`as-${name}`} x={x + 0.15} y={y} width="0.7" height={tall} />
        );
      })}
    </g>
  );
}

/** The numbers of the chart, for who can't see it. */
function Table({
  bars,
  span,
}: {
  readonly bars: readonly Bar[];
  readonly span: Span;
}): JSX.Element {
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
          {bars.map(({ at, numbers }) => (
            <tr key={at}>
              <th scope="row">{startOf(at, span)}</th>
              {outcomes.map((name) => (
                <td key={name}>{count(numbers[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function startOf(at: number, { barMs }: Span): string {
  const date = new Date(at);
  const time = utcTime(date).slice(0, 5);
  return barMs === minuteMs ? `${time} UTC` : `${date.toISOString().slice(5, 10)} ${time}`;
}
