import type { Counts, ReasonCode, State } from "@reporthook/core";
import type { JSX } from "preact";
import type { WireOverview } from "../../src/deliveries/wire.ts";
import { AllOfReason } from "../all-of.tsx";
import { Frame } from "../frame.tsx";
import { count, deliveries, reasonHint, reasonName, stateLabels, total } from "../labels.ts";
import { useLive } from "../live.ts";
import { Ago, Code, Empty, Loading, StateBadge, To } from "../parts.tsx";
import { Charts } from "./charts.tsx";
import { DeliveryRow } from "./deliveries.tsx";
import { Problems, Processes } from "./problems.tsx";

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
  const { counts, oldest, minutes, hours, inbox, service, problems, processes } = overview;
  // Its content is unknown.
  if (!inbox.ok) {
    return (
      <>
        <h1 class="alarm">The inbox can’t be read</h1>
        <p class="service">The inbox fails: {inbox.error ?? "unknown error"}</p>
        <Problems problems={problems} />
      </>
    );
  }
  const [worst] = problems;
  const tone = worst === undefined ? undefined : worst.severity === "critical" ? "alarm" : "warned";
  return (
    <>
      <h1 class={tone}>{worst === undefined ? headline(counts) : titleOf(worst)}</h1>
      {service === "ok" && <p class="service">The service answers.</p>}
      <Problems problems={problems} />
      <Parked overview={overview} />
      {overview.stuck.length > 0 && (
        <section aria-labelledby="stuck">
          <h2 id="stuck">Stuck deliveries</h2>
          <ul class="list stuck">
            {overview.stuck.map((entry) => (
              <DeliveryRow key={entry.id} entry={entry} />
            ))}
          </ul>
          {counts.held + counts.dead > 0 && (
            <p class="hint">
              <To route={{ screen: "deliveries", filters: { state: "parked" } }}>
                All parked deliveries
              </To>
            </p>
          )}
        </section>
      )}
      <section aria-labelledby="states">
        <h2 id="states">All deliveries</h2>
        <ul class="counts">
          {(Object.keys(stateLabels) as State[]).map((state) => (
            <li key={state}>
              <To route={{ screen: "deliveries", filters: { state } }}>
                <StateBadge state={state} />
                <span class="number">{count(counts[state])}</span>
                <span class="meaning">{stateLabels[state].meaning}</span>
                <span class="oldest">
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
      <Charts minutes={minutes} hours={hours} />
      <Processes processes={processes} />
    </>
  );
}

function Parked({ overview }: { readonly overview: WireOverview }): JSX.Element | null {
  const { parked, errors, viewer, receiver, counts, problems } = overview;
  const found = Object.entries(parked).sort(([, one], [, other]) => other - one);
  if (found.length === 0 && problems.length > 0) return null;
  if (found.length === 0) {
    return total(counts) === 0 ? (
      <Empty title="No delivery yet">
        <p>
          Send a test to your webhook: <code>await client.testWebhook("https://…")</code>, or{" "}
          <code>npx reporthook test --to URL</code>. It appears here at once.
        </p>
      </Empty>
    ) : (
      <p class="calm">✓ Nothing is parked. Failed deliveries are retried automatically.</p>
    );
  }
  return (
    <section aria-labelledby="parked" class="parked">
      <h2 id="parked">Why they are parked</h2>
      <ul>
        {found.map(([reason, number]) => (
          <li key={reason}>
            <span class="number">{count(number)}</span>
            <div>
              {errors[reason as ReasonCode]?.map(({ error, text, count: alike }) => (
                <p key={error} class="common">
                  <To route={{ screen: "deliveries", filters: { state: "parked", reason, error } }}>
                    {count(alike)} × <bdi class="failure">{text}</bdi>
                  </To>
                </p>
              ))}
              <To route={{ screen: "deliveries", filters: { state: "parked", reason } }}>
                {reasonName(reason)}
              </To>{" "}
              <Code of={reason} />
              <p>{reasonHint(reason)}</p>
            </div>
            {viewer.may === "act" && (
              <AllOfReason
                receiver={receiver}
                reason={reason}
                number={number}
                changedAt={overview.parkedChangedAt}
                errors={errors[reason as ReasonCode] ?? []}
              />
            )}
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
