import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { WireEntry, WireList } from "../../src/deliveries/wire.ts";
import { AllOf, AllOfReason } from "../all-of.tsx";
import { Frame } from "../frame.tsx";
import { count, eventLabel } from "../labels.ts";
import { useLive } from "../live.ts";
import { Empty, Loading, Moment, NoDelivery, StateBadge, To, Why } from "../parts.tsx";
import { type Filters, go } from "../route.ts";
import { Filtering } from "./filtering.tsx";
import { Listing, type Paging, usePaging } from "./listing.tsx";

/** The newest deliveries that fit the filters, as they come and change. */
export function DeliveriesScreen({ filters }: { readonly filters: Filters }): JSX.Element {
  const subject = String(new URLSearchParams({ ...filters }));
  const paging = usePaging(subject);
  // Arriving deliveries do not disturb typing.
  const filtering = useMemo(() => <Filtering filters={filters} />, [filters]);
  const told = useLive<WireList>(`api/deliveries?limit=${paging.limit}&${subject}`, subject);
  return (
    <Frame title="Deliveries" screen="deliveries" told={told}>
      <h1>Deliveries</h1>
      {filtering}
      {told.data === null ? (
        <Loading />
      ) : (
        <Found key={subject} list={told.data} paging={paging} filters={filters} />
      )}
    </Frame>
  );
}

function Found({
  list,
  paging,
  filters,
}: {
  readonly list: WireList;
  readonly paging: Paging;
  readonly filters: Filters;
}): JSX.Element {
  const { viewer, receiver, total, parkedChangedAt: changedAt, groups } = list;
  const { state, reason = "", ...rest } = filters;
  // Only when the list shows all deliveries parked for the reason, and no others: those are released or discarded.
  const areAll = state === "parked" && reason !== "" && Object.keys(rest).length === 0;
  return (
    <Listing
      list={list}
      paging={paging}
      goBeyond={({ receivedAt }) => {
        const until = new Date(new Date(receivedAt).getTime() + 1).toISOString();
        go({ screen: "deliveries", filters: { ...filters, until } });
      }}
      row={(entry) => <DeliveryRow key={entry.id} entry={entry} />}
      nothing={<Nothing filtered={Object.keys(filters).length > 0} />}
      buttons={
        viewer.may === "act" &&
        areAll &&
        total !== null &&
        total > 0 && (
          <AllOfReason {...{ receiver, reason, number: total, changedAt, errors: groups }} />
        )
      }
    >
      {reason === "" && Object.keys(rest).every((name) => name === "error") && (
        <Groups list={list} />
      )}
    </Listing>
  );
}

/** The largest groups of equal errors, each with its buttons. */
function Groups({ list }: { readonly list: WireList }): JSX.Element | null {
  const { groups, viewer, receiver, parkedChangedAt } = list;
  if (groups.length === 0) return null;
  return (
    <section aria-labelledby="groups">
      <h2 id="groups">Equal errors</h2>
      <ul class="groups">
        {groups.map(({ error, text, count: number }) => (
          <li key={error}>
            <To route={{ screen: "deliveries", filters: { state: "parked", error } }}>
              {count(number)} × <bdi>{text}</bdi>
            </To>
            {viewer.may === "act" && (
              <AllOf
                {...{ receiver, number, kind: { error }, errors: [] }}
                name={`the error “${text}”`}
                hint="What nobody vouches for is left out."
                changedAt={parkedChangedAt}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
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

function Nothing({ filtered }: { readonly filtered: boolean }): JSX.Element {
  return filtered ? (
    <Empty title="No delivery fits these filters">
      <button type="button" onClick={() => go({ screen: "deliveries", filters: {} })}>
        Show all deliveries
      </button>
    </Empty>
  ) : (
    <NoDelivery />
  );
}
