import type { Counts } from "@reporthook/core";
import type { JSX } from "preact";
import type { WireOverview } from "../src/wire.ts";
import { clockTime } from "./parts.tsx";
import { count, duration } from "./words.ts";

type Minutes = WireOverview["minutes"];
type Minute = Minutes[number];

const minuteMs = 60_000;
const shown = 60;
const height = 100;
const limitMs = 5_000;
const leastMs = 0.5;

const outcomes = [
  { name: "handled", of: ({ handled }: Counts) => handled },
  { name: "waiting", of: ({ received, verified }: Counts) => received + verified },
  { name: "parked", of: ({ held, dead }: Counts) => held + dead },
  { name: "rejected", of: ({ rejected }: Counts) => rejected },
] as const;

/** How long it took until notifications were handed to the inbox, against what the sender allows for the answer. */
export function AckChart({ minutes }: { readonly minutes: Minutes }): JSX.Element {
  const slowest = Math.max(0, ...minutes.map(({ ackMs }) => ackMs.p99));
  const middle = minutes.map(({ ackMs }) => ackMs.p50).sort((one, other) => one - other);
  const p50 = middle[Math.floor(middle.length / 2)];
  const text =
    p50 === undefined
      ? "Nothing was received in the last hour"
      : `Median ${duration(p50)}, slowest 99th percentile ${duration(slowest)}, of 5 s allowed`;
  return (
    <Chart
      title="Handed to the inbox after"
      text={text}
      minutes={minutes}
      top="5 s"
      bottom={`${leastMs} ms`}
      columns={["p50", "p99"]}
      cells={({ ackMs }) => [duration(ackMs.p50), duration(ackMs.p99)]}
    >
      <line class="limit" x1="0" x2={shown} y1={yOf(limitMs)} y2={yOf(limitMs)} />
      {placed(minutes, ({ ackMs }, x) => {
        const [top, low] = [yOf(ackMs.p99), yOf(ackMs.p50)];
        return (
          <>
            <rect class="span" x={x + 0.15} y={top} width="0.7" height={Math.max(1, low - top)} />
            <rect class="median" x={x + 0.15} y={low - 1} width="0.7" height="2" />
          </>
        );
      })}
    </Chart>
  );
}

/** How many were received in each minute, by what became of them. */
export function OutcomeChart({ minutes }: { readonly minutes: Minutes }): JSX.Element {
  const sums = minutes.map(({ counts }) => outcomes.reduce((sum, { of }) => sum + of(counts), 0));
  const most = Math.max(1, ...sums);
  const sum = (of: (counts: Counts) => number): number =>
    minutes.reduce((all, { counts }) => all + of(counts), 0);
  const text = `Last hour: ${outcomes.map(({ name, of }) => `${count(sum(of))} ${name}`).join(", ")}`;
  return (
    <Chart
      title="Received per minute"
      text={text}
      minutes={minutes}
      top={count(most)}
      columns={outcomes.map(({ name }) => name)}
      cells={({ counts }) => outcomes.map(({ of }) => count(of(counts)))}
      legend
    >
      {placed(minutes, ({ counts }, x) => {
        let y = height;
        return outcomes.map(({ name, of }) => {
          const tall = (of(counts) / most) * height;
          y -= tall;
          return tall === 0 ? null : (
            <rect key={name} class={`as-${name}`} x={x + 0.15} y={y} width="0.7" height={tall} />
          );
        });
      })}
    </Chart>
  );
}

function Chart(props: {
  readonly title: string;
  readonly text: string;
  readonly minutes: Minutes;
  readonly top: string;
  readonly bottom?: string;
  readonly columns: readonly string[];
  readonly cells: (minute: Minute) => readonly string[];
  readonly legend?: boolean;
  readonly children: JSX.Element | (JSX.Element | JSX.Element[])[];
}): JSX.Element {
  const { title, text, minutes, top, bottom, columns, cells, legend = false, children } = props;
  return (
    <figure>
      <figcaption>
        <strong>{title}</strong> <span>{text}</span>
      </figcaption>
      <div class="plot">
        <span class="axis top">{top}</span>
        {bottom !== undefined && <span class="axis bottom">{bottom}</span>}
        <svg
          viewBox={`0 0 ${shown} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}. ${text}`}
        >
          {children}
        </svg>
        <span class="axis from">{clockTime(new Date(Date.now() - shown * minuteMs))}</span>
        <span class="axis to">now</span>
      </div>
      {legend && (
        <ul class="legend" aria-hidden="true">
          {columns.map((name) => (
            <li key={name} class={`as-${name}`}>
              {name}
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary>As a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Minute</th>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {minutes.map((minute) => (
              <tr key={minute.at}>
                <th scope="row">{clockTime(new Date(minute.at))}</th>
                {cells(minute).map((cell, at) => (
                  <td key={columns[at]}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

/** One drawing for each minute that is shown, the current one at the right. */
function placed(
  minutes: Minutes,
  draw: (minute: Minute, x: number) => JSX.Element | (JSX.Element | null)[],
): JSX.Element[] {
  const last = Math.floor(Date.now() / minuteMs);
  return minutes.flatMap((minute) => {
    const x = shown - 1 - (last - Math.floor(new Date(minute.at).getTime() / minuteMs));
    return x < 0 ? [] : [<g key={minute.at}>{draw(minute, x)}</g>];
  });
}

/** Each tenfold is as tall as the next: 2 ms and 4 s are both to be seen. */
function yOf(ms: number): number {
  const [low, high] = [Math.log10(leastMs), Math.log10(limitMs)];
  const share = (Math.log10(Math.max(ms, leastMs)) - low) / (high - low);
  return height - Math.min(share, 1) * (height - 2) - 1;
}
