import type { State } from "@reporthook/core";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import type { WireEntry } from "../src/deliveries/wire.ts";
import {
  durationText,
  errorOf,
  type ReportState,
  reasonName,
  reportLabels,
  stateLabels,
} from "./labels.ts";
import type { TimelineStep } from "./views/timeline.ts";

/** A state as sign, word and colour. */
export function StateBadge({ state }: { readonly state: State | ReportState }): JSX.Element {
  const { name, sign } = { ...stateLabels, ...reportLabels }[state];
  return (
    <span class={`badge is-${state}`}>
      <span aria-hidden="true">{sign}</span> {name}
    </span>
  );
}

/** The code of a reason, to stand beside its name; nothing where it is the name. */
export function Code({ of }: { readonly of: string }): JSX.Element | null {
  return reasonName(of) === of ? null : <code class="code">{of}</code>;
}

/** Why a delivery does not go on: its error, and the reason below. */
export function Why({ entry }: { readonly entry: WireEntry }): JSX.Element {
  const { reason, state, attempts, nextAttemptAt } = entry;
  const error = errorOf(entry);
  return (
    <span class="why">
      {error !== null && <bdi class={state === "handled" ? "is-warning" : ""}>{error}</bdi>}{" "}
      {reason !== null && (
        <span>
          {reasonName(reason.code)} <Code of={reason.code} />
        </span>
      )}
      {nextAttemptAt !== null && (attempts > 0 || error !== null) && (
        <span>
          {attempts > 0 && `${attempts} tried, `}
          {state === "received" ? "asked again" : "next"} <Ago at={nextAttemptAt} />
        </span>
      )}
    </span>
  );
}

const time = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

/** A moment in UTC, as in the log and on the command line, with the viewer's time beside it; the day too, of another one. */
export function Moment({ at }: { readonly at: string }): JSX.Element {
  const date = new Date(at);
  const day = at.slice(0, 10);
  return (
    <time dateTime={at} title={full.format(date)}>
      {day !== new Date().toISOString().slice(0, 10) && `${day} `}
      {at.slice(11, 19)} UTC
      {date.getTimezoneOffset() !== 0 && <span class="soft"> {time.format(date)} here</span>}
    </time>
  );
}

/** How long ago, or in how long; kept true while it is shown. */
export function Ago({ at }: { readonly at: string }): JSX.Element {
  const now = useNow();
  const ms = Math.round((now - new Date(at).getTime()) / 1_000) * 1_000;
  return (
    <time dateTime={at} title={full.format(new Date(at))}>
      {ms < 0 ? `in ${durationText(-ms)}` : ms < 1_000 ? "now" : `${durationText(ms)} ago`}
    </time>
  );
}

/** The time, kept true to a second, and no newer than the last of such steps, in milliseconds. */
export function useNow(stepMs = 1): number {
  const step = (): number => Math.floor(Date.now() / stepMs) * stepMs;
  const [now, setNow] = useState(step);
  useEffect(() => {
    const timer = setInterval(() => setNow(step()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Copies a text, and says so. */
export function Copy({
  text,
  children,
}: {
  readonly text: string;
  readonly children: string;
}): JSX.Element {
  const [said, setSaid] = useState<string | null>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      setSaid("Not allowed here");
    }
    setTimeout(() => setSaid(null), 2_000);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      <span aria-live="polite">{said ?? children}</span>
    </button>
  );
}

interface Titled {
  readonly title: string;
  readonly children: ComponentChildren;
}

/** A part of a screen. */
export function Section({ title, children }: Titled): JSX.Element {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** Values, each with its name. */
export function named(values: Readonly<Record<string, ComponentChildren>>): JSX.Element {
  return (
    <dl>
      {Object.entries(values).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <bdi>{value}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Text from outside, or what is said in its place. */
export function textOr(text: string | null, none: string): JSX.Element {
  if (text === null) return <p>{none}</p>;
  return (
    <pre>
      <bdi>{text}</bdi>
    </pre>
  );
}

/** A placeholder for an empty list. */
export function Empty({ title, children }: Titled): JSX.Element {
  return (
    <div class="empty">
      <p class="lead">{title}</p>
      <div>{children}</div>
    </div>
  );
}

/** A placeholder while there is none at all. */
export function NoDelivery(): JSX.Element {
  return (
    <Empty title="No delivery yet">
      <p>
        Send a test to your webhook: <code>npx reporthook test --to URL</code>. It appears here at
        once.
      </p>
    </Empty>
  );
}

/** The screen of something that is gone: `kept` says how long such are, and the address `to` shows those that are there. */
export function missing(what: string, id: string, to: string, kept: string): JSX.Element {
  return (
    <>
      <h1>No such {what}</h1>
      <Empty title="It was deleted, or never there">
        <p>
          {kept} The id was <code>{id}</code>.
        </p>
        <a href={to}>See those that are</a>
      </Empty>
    </>
  );
}

/** The steps of a delivery or a report, in order. */
export function wayOf(steps: readonly TimelineStep[]): JSX.Element {
  return (
    <ol class="way">
      {steps.map(({ at, title: step, tone, ms, detail, alike, until }, index) => (
        <li key={index} class={`is-${tone}`}>
          <span class="soft">{at !== null && <Moment at={at} />}</span>
          <div>
            <strong>{step}</strong>
            {ms !== undefined && <span class="soft"> {durationText(ms)}</span>}
            {until !== undefined && (
              <span class="soft">
                {" "}
                {alike} alike, until <Moment at={until} />
              </span>
            )}
            {detail && (
              <pre class="error">
                <bdi>{detail}</bdi>
              </pre>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}
