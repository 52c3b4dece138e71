import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { WireBar, WireOverview } from "../../src/deliveries/wire.ts";
import { count } from "../labels.ts";
import { useNow, utcTime } from "../parts.tsx";

const minuteMs = 60_000;
const hourMs = 3_600_000;
const height = 100;

const outcomes = ["handled", "waiting", "parked", "rejected"] as const;

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

/** The last hour, day or week; it moves on although nothing comes. */
export function Charts({ minutes, hours }: Pick<WireOverview, "minutes" | "hours">): JSX.Element {
  const [chosen, choose] = useState(0);
  const span = spans[chosen] as Span;
  const now = useNow(span.barMs);
  const bars = gathered(chosen === 0 ? minutes : hours, span, now);
  return (
    <div class="charts">
      <fieldset class="spans">
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
      <Chart bars={bars} span={span} now={now} />
    </div>
  );
}

/** Adds up what belongs to one bar. */
function gathered(all: readonly WireBar[], { bars, barMs }: Span, now: number): WireBar[] {
  const found = new Map<number, WireBar>();
  for (const one of all) {
    const begins = Math.floor(new Date(one.at).getTime() / barMs) * barMs;
    if (begins <= now - bars * barMs) continue;
    const before = found.get(begins);
    const sum = (name: (typeof outcomes)[number]): number => one[name] + (before?.[name] ?? 0);
    found.set(begins, {
      at: new Date(begins).toISOString(),
      ...{ handled: sum("handled"), waiting: sum("waiting") },
      ...{ parked: sum("parked"), rejected: sum("rejected") },
    });
  }
  return [...found.values()];
}

interface Shown {
  readonly bars: readonly WireBar[];
  readonly span: Span;
  /** When the current bar began. */
  readonly now: number;
}

function Chart({ bars, span, now }: Shown): JSX.Element {
  const all = (bar: WireBar): number => outcomes.reduce((sum, name) => sum + bar[name], 0);
  const most = Math.max(1, ...bars.map(all));
  const sums = outcomes.map((name) => bars.reduce((sum, bar) => sum + bar[name], 0));
  const text = `Last ${span.name}: ${outcomes.map((name, at) => `${count(sums[at] ?? 0)} ${name}`).join(", ")}`;
  return (
    <figure>
      <figcaption>
        <strong>{span.title}</strong> <span>{text}</span>
      </figcaption>
      <div class="plot">
        <span class="axis top">{count(most)}</span>
        <svg
          viewBox={`0 0 ${span.bars} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${span.title}. ${text}`}
        >
          {bars.map((bar) => (
            <Bar key={bar.at} bar={bar} x={placeOf(bar.at, span, now)} most={most} />
          ))}
        </svg>
        <span class="axis from">{startOf(now - (span.bars - 1) * span.barMs, span)}</span>
        <span class="axis to">now</span>
      </div>
      <ul class="legend" aria-hidden="true">
        {outcomes.map((name) => (
          <li key={name} class={`as-${name}`}>
            {name}
          </li>
        ))}
      </ul>
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
                <th scope="row">{startOf(new Date(bar.at).getTime(), span)}</th>
                {outcomes.map((name) => (
                  <td key={name}>{count(bar[name])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

function Bar({
  bar,
  x,
  most,
}: {
  readonly bar: WireBar;
  readonly x: number;
  readonly most: number;
}): JSX.Element {
  let y = height;
  return (
    <g>
      {outcomes.map((name) => {
        const tall = (bar[name] / most) * height;
        y -= tall;
        if (tall === 0) return null;
        return (
          <rect key={name} class={`as-${name}`} x={x + 0.15} y={y} width="0.7" height={tall} />
        );
      })}
    </g>
  );
}

function placeOf(at: string, { bars, barMs }: Span, now: number): number {
  return bars - 1 - Math.floor((now - new Date(at).getTime()) / barMs);
}

function startOf(at: number, { barMs }: Span): string {
  const date = new Date(at);
  const time = utcTime(date).slice(0, 5);
  return barMs === minuteMs ? `${time} UTC` : `${date.toISOString().slice(5, 10)} ${time}`;
}
