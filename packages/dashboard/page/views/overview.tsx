import type { Counts, State } from "@reporthook/core";
import type { JSX } from "preact";
import type { WireJudged, WireOverview } from "../../src/deliveries/wire.ts";
import { count, deliveries, stateLabels, total } from "../labels.ts";
import { Ago, NoDelivery, Section, StateBadge } from "../parts.tsx";
import { listAt } from "../route.ts";
import { Screen } from "../screen.tsx";
import { Chart } from "./charts.tsx";
import { LastActs, Processes, problemsSection } from "./problems.tsx";

/** The overview: problems first, then the numbers. */
export function Overview(): JSX.Element {
  return (
    <Screen<WireJudged | WireOverview> title="Overview" address="api/overview">
      {shownOf}
    </Screen>
  );
}

function shownOf(overview: WireJudged | WireOverview): JSX.Element {
  const { inbox, service, problems, processes } = overview;
  if (!("counts" in overview)) {
    return (
      <>
        <h1 class="is-critical">The inbox can’t be read</h1>
        <p class="soft">The inbox fails: {inbox.error ?? "unknown error"}</p>
        {problemsSection(overview)}
      </>
    );
  }
  const { counts, oldest, minutes, hours, acts } = overview;
  const [worst] = problems;
  return (
    <>
      {worst === undefined ? (
        <h1>{headline(counts)}</h1>
      ) : (
        <h1 class={`is-${worst.severity}`}>{titleOf(worst)}</h1>
      )}
      {service === "ok" && <p class="soft">The service answers.</p>}
      {problemsSection(overview)}
      {problems.length === 0 && total(counts) === 0 && <NoDelivery />}
      <States counts={counts} oldest={oldest} />
      <Chart minutes={minutes} hours={hours} />
      <LastActs acts={acts} />
      <Processes processes={processes} />
    </>
  );
}

/** How many are in each state, and how old the oldest is. */
function States({ counts, oldest }: Pick<WireOverview, "counts" | "oldest">): JSX.Element {
  return (
    <Section title="All deliveries">
      <ul class="counts">
        {(Object.keys(stateLabels) as State[]).map((state) => (
          <li key={state}>
            <a href={listAt({ state })}>
              <StateBadge state={state} />
              <span class="number">{count(counts[state])}</span>
              <span class="soft">{stateLabels[state].meaning}</span>
              {state !== "handled" && oldest[state] !== null && (
                <span class="soft">
                  oldest <Ago at={oldest[state]} />
                </span>
              )}
            </a>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function headline(counts: Counts): string {
  const waiting = counts.received + counts.verified;
  if (waiting > 0) return `${deliveries(waiting)} on the way`;
  return total(counts) === 0 ? "The inbox is empty" : "All that came is handled";
}

/** The first sentence of a problem. */
function titleOf({ text }: WireOverview["problems"][number]): string {
  const end = text.search(/\.( |$)/);
  return end < 0 ? text : text.slice(0, end);
}
