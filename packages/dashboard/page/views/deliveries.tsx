import type { JSX } from "preact";
import type { WireEntry, WireList } from "../../src/deliveries/wire.ts";
import { actionsOnAll } from "../actions.tsx";
import { type Action, Actions } from "../confirm.tsx";
import { count, eventLabel } from "../labels.ts";
import { Empty, Moment, NoDelivery, Section, StateBadge, Why } from "../parts.tsx";
import { at, go, listAt, type PageQuery } from "../route.ts";
import { Filtering } from "./filtering.tsx";
import { ListScreen } from "./listing.tsx";

/** The newest deliveries that fit the filters, as they come and change. */
export function DeliveriesScreen({ filters }: { readonly filters: PageQuery }): JSX.Element {
  return (
    <ListScreen<WireEntry, WireList>
      title="Deliveries"
      filters={filters}
      top={
        <>
          <h1>Deliveries</h1>
          <Filtering filters={filters} />
        </>
      }
      totalOf={({ total }) => total}
      beyond={({ receivedAt }) => {
        const until = new Date(new Date(receivedAt).getTime() + 1).toISOString();
        return listAt({ ...filters, until });
      }}
      row={rowOf}
      buttons={(list) => <Actions of={actionsOnList(list, filters)} />}
      above={(list) => groupsOf(list, filters)}
      nothing={
        Object.keys(filters).length === 0 ? (
          <NoDelivery />
        ) : (
          <Empty title="No delivery fits these filters">
            <button type="button" onClick={() => go(listAt({}))}>
              Show all deliveries
            </button>
          </Empty>
        )
      }
    />
  );
}

/** The actions on all that are parked for a reason, if the list shows these and no others. */
function actionsOnList(
  { total, parkedChangedAt: changedAt, groups: errors }: WireList,
  { state, reason, ...rest }: PageQuery,
): Action[] {
  if (state !== "parked" || reason === undefined || Object.keys(rest).length > 0) return [];
  return total ? actionsOnAll({ of: reason, number: total, changedAt, errors }) : [];
}

/** The largest groups of equal errors, each with its actions. */
function groupsOf(
  { groups, parkedChangedAt: changedAt }: WireList,
  { state, error, ...others }: PageQuery,
): JSX.Element | null {
  if (groups.length === 0 || Object.keys(others).length > 0) return null;
  return (
    <Section title="Equal errors">
      <ul class="groups">
        {groups.map((group) => (
          <li key={group.error}>
            <a href={listAt({ state: "parked", error: group.error })}>
              {count(group.count)} × <bdi>{group.text}</bdi>
            </a>
            <Actions of={actionsOnAll({ of: group, number: group.count, changedAt, errors: [] })} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** A delivery in a list, with a link to it. */
export function rowOf(entry: WireEntry): JSX.Element {
  const { id, state, reportId, requestId, receivedAt } = entry;
  return (
    <li key={id}>
      <a href={at({ delivery: id })}>
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
      </a>
    </li>
  );
}
