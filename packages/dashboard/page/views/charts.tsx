import type { Counts } from "@reporthook/core";
import type { JSX } from "preact";
import type { WireOverview } from "../../src/deliveries/wire.ts";
import { count, total } from "../labels.ts";
import { clockTime, useNow } from "../parts.tsx";

type Minutes = WireOverview["minutes"];
type Minute = Minutes[number];

const minuteMs = 60_000;
const shown = 60;
const height = 100;

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
      <OutcomeChart minutes={lately} now={now} />
    </div>
  );
}

interface Shown {
  readonly minutes: Minutes;
  /** When the current minute began. */
  readonly now: number;
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
  readonly columns: readonly string[];
  readonly cells: (minute: Minute) => readonly string[];
  readonly children: JSX.Element | (JSX.Element | JSX.Element[])[];
}

function Chart(props: Pictured): JSX.Element {
  const { title, text, minutes, now, top, columns, cells, children } = props;
  return (
    <figure>
      <figcaption>
        <strong>{title}</strong> <span>{text}</span>
      </figcaption>
      <div class="plot">
        <span class="axis top">{top}</span>
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
      <ul class="legend" aria-hidden="true">
        {columns.map((name) => (
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
