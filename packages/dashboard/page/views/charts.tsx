import type { Counts } from "@reporthook/core";
import type { JSX } from "preact";
import type { WireOverview } from "../../src/deliveries/wire.ts";
import { count, durationText, total } from "../labels.ts";
import { clockTime, useNow } from "../parts.tsx";

type Minutes = WireOverview["minutes"];
type Minute = Minutes[number];

const minuteMs = 60_000;
const shown = 60;
const height = 100;
const limitMs = 5_000;
const minMs = 0.5;

const outcomes = [
  { name: "handled", of: ({ handled }: Counts) => handled },
  { name: "waiting", of: ({ received, verified }: Counts) => received + verified },
  { name: "parked", of: ({ held, dead }: Counts) => held + dead },
  { name: "rejected", of: ({ rejected }: Counts) => rejected },
] as const;

/** The last hour, minute by minute; it moves on although nothing comes. */
export function Charts({ minutes }: { readonly minutes: Minutes }): JSX.Element {
  const now = useNow(minuteMs);
  const lately = minutes.filter(({ at }) => placeOf(at, now) >= 0);
  return (
    <div class="charts">
      <AckChart minutes={lately} now={now} />
      <OutcomeChart minutes={lately} now={now} />
    </div>
  );
}

interface Shown {
  readonly minutes: Minutes;
  /** When the current minute began. */
  readonly now: number;
}

/** How long it took until notifications were handed to the inbox, against what the sender allows for the answer. */
function AckChart({ minutes, now }: Shown): JSX.Element {
  const slowest = Math.max(0, ...minutes.map(({ ackMs }) => ackMs.p99));
  const text =
    minutes.length === 0
      ? "Nothing was received in the last hour"
      : `Median about ${durationText(middleOf(minutes))}, slowest 99th percentile ${durationText(slowest)}, of 5 s allowed`;
  return (
    <Chart
      title="Passed to the inbox after"
      text={text}
      minutes={minutes}
      now={now}
      top="5 s"
      bottom={`${minMs} ms`}
      columns={["p50", "p99"]}
      cells={({ ackMs }) => [durationText(ackMs.p50), durationText(ackMs.p99)]}
    >
      <line class="limit" x1="0" x2={shown} y1={yOf(limitMs)} y2={yOf(limitMs)} />
      {placed(minutes, now, ({ ackMs }, x) => {
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

/** The number received in each minute, by outcome. */
function OutcomeChart({ minutes, now }: Shown): JSX.Element {
  const most = Math.max(1, ...minutes.map(({ counts }) => total(counts)));
  const sum = (of: (counts: Counts) => number): number =>
    minutes.reduce((all, { counts }) => all + of(counts), 0);
  const text = `Last hour: ${outcomes.map(({ name, of }) => `${count(sum(of))} ${name}`).join(", ")}`;
  return (
    <Chart
      title="Received per minute"
      text={text}
      minutes={minutes}
      now={now}
      top={count(most)}
      columns={outcomes.map(({ name }) => name)}
      cells={({ counts }) => outcomes.map(({ of }) => count(of(counts)))}
      legend
    >
      {placed(minutes, now, ({ counts }, x) => {
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

interface Pictured extends Shown {
  readonly title: string;
  readonly text: string;
  readonly top: string;
  readonly bottom?: string;
  readonly columns: readonly string[];
  readonly cells: (minute: Minute) => readonly string[];
  readonly legend?: boolean;
  readonly children: JSX.Element | (JSX.Element | JSX.Element[])[];
}

function Chart(props: Pictured): JSX.Element {
  const { title, text, minutes, now, top, bottom, columns, cells, legend, children } = props;
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
        <span class="axis from">{clockTime(new Date(now - shown * minuteMs))}</span>
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
  now: number,
  draw: (minute: Minute, x: number) => JSX.Element | (JSX.Element | null)[],
): JSX.Element[] {
  return minutes.map((minute) => <g key={minute.at}>{draw(minute, placeOf(minute.at, now))}</g>);
}

function placeOf(at: string, now: number): number {
  return shown - 1 - Math.floor((now - new Date(at).getTime()) / minuteMs);
}

/** The median of the minutes' medians, weighted by their deliveries: close to the median of all, which is not computed. */
function middleOf(minutes: Minutes): number {
  const slowestFirst = [...minutes].sort((one, other) => other.ackMs.p50 - one.ackMs.p50);
  const half = minutes.reduce((sum, { counts }) => sum + total(counts), 0) / 2;
  let slower = 0;
  for (const { counts, ackMs } of slowestFirst) {
    slower += total(counts);
    if (slower > half) return ackMs.p50;
  }
  return 0;
}

/** Each tenfold is as tall as the next: 2 ms and 4 s are both to be seen. */
function yOf(ms: number): number {
  const [low, high] = [Math.log10(minMs), Math.log10(limitMs)];
  const share = (Math.log10(Math.max(ms, minMs)) - low) / (high - low);
  return height - Math.min(share, 1) * (height - 2) - 1;
}
