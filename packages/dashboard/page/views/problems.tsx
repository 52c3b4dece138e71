import type { ReasonCode } from "@reporthook/core";
import type { JSX } from "preact";
import type { WireJudged, WireOverview } from "../../src/deliveries/wire.ts";
import { actionsOnAll } from "../actions.tsx";
import { Actions } from "../confirm.tsx";
import { count, deliveries, reasonHint, reasonName } from "../labels.ts";
import { Ago, Copy, Moment, Section } from "../parts.tsx";
import { at, listAt } from "../route.ts";

/** The problems, worst first: each with its command to copy, and parked deliveries with their errors and buttons. */
export function problemsSection(overview: WireJudged | WireOverview): JSX.Element | null {
  const { problems } = overview;
  const whole = "counts" in overview ? overview : null;
  if (problems.length === 0) return null;
  return (
    <Section title="What is wrong">
      <ul class="problems">{problems.map((problem) => problemOf(problem, whole))}</ul>
      {whole !== null && whole.counts.held + whole.counts.dead > 0 && (
        <p class="soft">
          <a href={listAt({ state: "parked" })}>All parked deliveries</a>
        </p>
      )}
    </Section>
  );
}

function problemOf(
  { code, reason, severity, since, text, command }: WireOverview["problems"][number],
  whole: WireOverview | null,
): JSX.Element {
  // The command says which deliveries are meant.
  const [, by, value = ""] = / inbox list --(state|reason) (\w+)/.exec(command ?? "") ?? [];
  return (
    <li key={`${code} ${reason}`} class={`is-${severity}`}>
      <p>
        <strong>{severity}</strong> <code class="code">{code}</code>
        {reason !== null && <code class="code"> {reason}</code>} since <Moment at={since} /> (
        <Ago at={since} />)
      </p>
      <p>
        <bdi>{text}</bdi>{" "}
        {by === "state" && <a href={listAt({ state: value })}>See the deliveries</a>}
        {code === "overdue" && (
          <a href={at({ show: "reports", of: "overdue" })}>See the overdue reports</a>
        )}
      </p>
      {by === "reason" && whole !== null && parkedFor(value as ReasonCode, whole)}
      {command !== null && (
        <p>
          <code>{command}</code> <Copy text={command}>Copy the command</Copy>
        </p>
      )}
    </li>
  );
}

/** The deliveries parked for a reason: what to do about them, and their errors. */
function parkedFor(reason: ReasonCode, overview: WireOverview): JSX.Element | null {
  const { parked, parkedChangedAt: changedAt } = overview;
  const { [reason]: number = 0 } = parked;
  const { [reason]: errors = [] } = overview.errors;
  if (number === 0) return null;
  return (
    <>
      <p>
        <a href={listAt({ state: "parked", reason })}>{reasonName(reason)}</a>: {reasonHint(reason)}
      </p>
      {errors.map(({ error, text, count: alike }) => (
        <p key={error}>
          <a href={listAt({ state: "parked", reason, error })}>
            {count(alike)} × <bdi>{text}</bdi>
          </a>
        </p>
      ))}
      <Actions of={actionsOnAll({ of: reason, number, changedAt, errors })} />
    </>
  );
}

/** The processes on the inbox. */
export function Processes({ processes }: Pick<WireOverview, "processes">): JSX.Element | null {
  if (processes.length === 0) return null;
  return (
    <Section title="Processes">
      <ul>
        {processes.map(({ host, pid, version, since, seenAt, state }) => (
          <li key={`${host} ${pid} ${since}`}>
            <bdi>
              {pid} on {host}
            </bdi>{" "}
            version {version}, since <Moment at={since} />, last sign of life <Ago at={seenAt} />
            {state !== "running" && <strong> {state}</strong>}
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The last acts of people: who did what, to how many. */
export function LastActs({ acts }: Pick<WireOverview, "acts">): JSX.Element | null {
  if (acts.length === 0) return null;
  return (
    <Section title="Last acts">
      <ul>
        {acts.map(({ at, by, act, selection, count: number }) => (
          <li key={`${at} ${act} ${by}`}>
            <Moment at={at} /> (<Ago at={at} />
            ): <bdi>{by ?? "the app"}</bdi> {done[act]} {deliveries(number)}{" "}
            <bdi class="soft">{selectionText(selection)}</bdi>
          </li>
        ))}
      </ul>
    </Section>
  );
}

const done: Readonly<Record<WireOverview["acts"][number]["act"], string>> = {
  release: "released",
  retry: "retried",
  discard: "discarded",
  erase: "erased",
};

/** The filters of an act, as they are named, without the moment at which they were applied. */
function selectionText(selection: object): string {
  const filters = Object.entries(selection).filter(([name]) => name !== "unchangedSince");
  return filters.map(([name, value]) => `${name} ${value}`).join(", ");
}
