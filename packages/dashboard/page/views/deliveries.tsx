import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { WireEntry, WireList } from "../../src/deliveries/wire.ts";
import { actionsOnAll } from "../actions.tsx";
import { type Action, Actions } from "../confirm.tsx";
import { count, eventLabel } from "../labels.ts";
import { Empty, Moment, NoDelivery, Section, StateBadge, To, Why } from "../parts.tsx";
import { type Filters, go } from "../route.ts";
import { Screen } from "../screen.tsx";
import { Filtering } from "./filtering.tsx";
import { Listing, usePaging } from "./listing.tsx";

/** The newest deliveries that fit the filters, as they come and change. */
export function DeliveriesScreen({ filters }: { readonly filters: Filters }): JSX.Element {
  const subject = String(new URLSearchParams({ ...filters }));
  const paging = usePaging(subject);
  // Longer lists do not disturb typing.
  const top = useMemo(
    () => (
      <>
        <h1>Deliveries</h1>
        <Filtering filters={filters} />
      </>
    ),
    [filters],
  );
  return (
    <Screen<WireList>
      title="Deliveries"
      address={`api/deliveries?limit=${paging.limit}&${subject}`}
      subject={subject}
      top={top}
    >
      {(list) => (
        <Listing
          key={subject}
          list={list}
          paging={paging}
          goBeyond={({ receivedAt }) => {
            const until = new Date(new Date(receivedAt).getTime() + 1).toISOString();
            go({ screen: "deliveries", filters: { ...filters, until } });
          }}
          row={(entry) => <DeliveryRow key={entry.id} entry={entry} />}
          nothing={
            Object.keys(filters).length === 0 ? (
              <NoDelivery />
            ) : (
              <Empty title="No delivery fits these filters">
                <button type="button" onClick={() => go({ screen: "deliveries", filters: {} })}>
                  Show all deliveries
                </button>
              </Empty>
            )
          }
          buttons={<Actions of={actionsOnList(list, filters)} />}
        >
          <Groups list={list} filters={filters} />
        </Listing>
      )}
    </Screen>
  );
}

/** The actions on all that are parked for a reason, if the list shows these and no others. */
function actionsOnList(
  { total, parkedChangedAt: changedAt, groups: errors }: WireList,
  { state, reason, ...rest }: Filters,
): Action[] {
  if (state !== "parked" || reason === undefined || Object.keys(rest).length > 0) return [];
  return total ? actionsOnAll({ of: reason, number: total, changedAt, errors }) : [];
}

/** The largest groups of equal errors, each with its actions. */
function Groups({
  list: { groups, parkedChangedAt: changedAt },
  filters: { state, error, ...others },
}: {
  readonly list: WireList;
  readonly filters: Filters;
}): JSX.Element | null {
  if (groups.length === 0 || Object.keys(others).length > 0) return null;
  return (
    <Section title="Equal errors">
      <ul class="groups">
        {groups.map((group) => (
          <li key={group.error}>
            <To route={{ screen: "deliveries", filters: { state: "parked", error: group.error } }}>
              {count(group.count)} × <bdi>{group.text}</bdi>
            </To>
            <Actions of={actionsOnAll({ of: group, number: group.count, changedAt, errors: [] })} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** A delivery in a list, with a link to it. */
export function DeliveryRow({ entry }: { readonly entry: WireEntry }): JSX.Element {
  const { id, state, reportId, requestId, receivedAt } = entry;
  return (
    <li>
      <To route={{ screen: "delivery", id }}>
        <StateBadge state={state} />
        <span class="what">
          {eventLabel(entry)}{" "}
          {reportId !== null && (
            <code>
              <bdi>{reportId}</bdi>
            </code>
          )}{" "}
          {requestId !== null && (
            <code>
              request <bdi>{requestId}</bdi>
            </code>
          )}
        </span>
        <Why entry={entry} />
        <Moment at={receivedAt} />
      </To>
    </li>
  );
}
