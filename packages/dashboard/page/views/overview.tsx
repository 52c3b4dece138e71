import type { Counts, State } from "@reporthook/core";
import type { JSX } from "preact";
import type { WireOverview } from "../../src/deliveries/wire.ts";
import { Frame } from "../frame.tsx";
import { count, deliveries, stateLabels, total } from "../labels.ts";
import { useLive } from "../live.ts";
import { Ago, Loading, NoDelivery, StateBadge, To } from "../parts.tsx";
import { Chart } from "./charts.tsx";
import { LastActs, Problems, Processes } from "./problems.tsx";

/** The overview: problems first, then the numbers. */
export function Overview(): JSX.Element {
  const told = useLive<WireOverview>("api/overview");
  const { data } = told;
  return (
    <Frame title="Overview" screen="overview" told={told}>
      {data === null ? <Loading /> : <Known overview={data} />}
    </Frame>
  );
}

function Known({ overview }: { readonly overview: WireOverview }): JSX.Element {
  const { counts, minutes, hours, inbox, service, problems, processes, acts } = overview;
  // Its content is unknown.
  if (!inbox.ok) {
    return (
      <>
        <h1 class="is-critical">The inbox can’t be read</h1>
        <p class="soft">The inbox fails: {inbox.error ?? "unknown error"}</p>
        <Problems overview={overview} />
      </>
    );
  }
  const [worst] = problems;
  return (
    <>
      {worst === undefined ? (
        <h1>{headline(counts)}</h1>
      ) : (
        <h1 class={`is-${worst.severity}`}>{titleOf(worst)}</h1>
      )}
      {service === "ok" && <p class="soft">The service answers.</p>}
      <Problems overview={overview} />
      {problems.length === 0 && total(counts) === 0 && <NoDelivery />}
      <States overview={overview} />
      <Chart minutes={minutes} hours={hours} />
      <LastActs acts={acts} />
      <Processes processes={processes} />
    </>
  );
}

/** How many are in each state, and how old the oldest is. */
function States({ overview }: { readonly overview: WireOverview }): JSX.Element {
  const { counts, oldest } = overview;
  return (
    <section aria-labelledby="states">
      <h2 id="states">All deliveries</h2>
      <ul class="counts">
        {(Object.keys(stateLabels) as State[]).map((state) => (
          <li key={state}>
            <To route={{ screen: "deliveries", filters: { state } }}>
              <StateBadge state={state} />
              <span class="number">{count(counts[state])}</span>
              <span class="soft">{stateLabels[state].meaning}</span>
              <span class="soft">
                {oldest[state] === null ? (
                  "none"
                ) : (
                  <>
                    oldest <Ago at={oldest[state] ?? ""} />
                  </>
                )}
              </span>
            </To>
          </li>
        ))}
      </ul>
    </section>
  );
}

function headline(counts: Counts): string {
  const waiting = counts.received + counts.verified;
  if (waiting > 0) return `${deliveries(waiting)} on the way`;
  return total(counts) === 0 ? "The inbox is empty" : "All is handled";
}

/** The first sentence of a problem. */
function titleOf({ text }: WireOverview["problems"][number]): string {
  const end = text.search(/\.( |$)/);
  return end < 0 ? text : text.slice(0, end);
}
