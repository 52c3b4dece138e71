import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import {
  maxListLength,
  pageLength,
  type WireEntry,
  type WireList,
} from "../../src/deliveries/wire.ts";
import { AllOf, AllOfReason } from "../all-of.tsx";
import { Frame } from "../frame.tsx";
import { count, eventLabel } from "../labels.ts";
import { useLive } from "../live.ts";
import { Empty, Loading, Moment, StateBadge, To, Why } from "../parts.tsx";
import { type Filters, go } from "../route.ts";
import { Filtering } from "./filtering.tsx";
import { usePausedList } from "./paused-list.ts";

/** The newest deliveries that fit the filters, as they come and change. */
export function DeliveriesScreen({ filters }: { readonly filters: Filters }): JSX.Element {
  const subject = String(new URLSearchParams({ ...filters }));
  const [asked, setAsked] = useState({ subject, limit: pageLength });
  const limit = asked.subject === subject ? asked.limit : pageLength;
  // Arriving deliveries do not disturb typing.
  const filtering = useMemo(() => <Filtering filters={filters} />, [filters]);
  const told = useLive<WireList>(`api/deliveries?limit=${limit}&${subject}`, subject);
  return (
    <Frame title="Deliveries" screen="deliveries" told={told}>
      <h1>Deliveries</h1>
      {filtering}
      {told.data === null ? (
        <Loading lines={12} />
      ) : (
        <Found
          key={subject}
          list={told.data}
          limit={limit}
          grow={(longer) => setAsked({ subject, limit: longer })}
          filters={filters}
        />
      )}
    </Frame>
  );
}

function Found({
  list,
  limit,
  grow,
  filters,
}: {
  readonly list: WireList;
  /** How many were asked for. */
  readonly limit: number;
  /** Asks for this number. */
  readonly grow: (limit: number) => void;
  readonly filters: Filters;
}): JSX.Element {
  const { shown, fresh, show, hold } = usePausedList(list.entries);
  const older = (): void => {
    const longer = fresh + shown.length + pageLength;
    const last = shown.at(-1);
    if (longer <= maxListLength || last === undefined) grow(longer);
    else {
      const until = new Date(new Date(last.receivedAt).getTime() + 1).toISOString();
      go({ screen: "deliveries", filters: { ...filters, until } });
    }
  };
  const { state, reason = "", ...rest } = filters;
  // Only when the list shows all deliveries parked for the reason, and no others: those are released or discarded.
  const areAll = state === "parked" && reason !== "" && Object.keys(rest).length === 0;
  return (
    <div {...hold}>
      <div class="bar">
        {fresh > 0 ? (
          <button type="button" onClick={show}>
            {fresh}
            {fresh === list.entries.length && list.more ? "+" : ""} new: show
          </button>
        ) : (
          <span>{shown.length > 0 && `Newest first, ${shownOf(shown.length, list.total)}`}</span>
        )}
        {list.viewer.may === "act" && areAll && list.total !== null && list.total > 0 && (
          <AllOfReason
            receiver={list.receiver}
            reason={reason}
            number={list.total}
            changedAt={list.parkedChangedAt}
            errors={list.errors}
          />
        )}
      </div>
      {Object.keys(rest).every((name) => name === "error") && <Groups list={list} />}
      {shown.length === 0 ? (
        <Nothing filtered={Object.keys(filters).length > 0} />
      ) : (
        <ul class="list">
          {shown.map((entry) => (
            <Row key={entry.id} entry={entry} />
          ))}
        </ul>
      )}
      {list.more && (
        <button type="button" class="load" onClick={older}>
          {list.entries.length < limit ? "Loading older ones…" : "Show older ones"}
        </button>
      )}
    </div>
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
              {count(number)} × <bdi class="failure">{text}</bdi>
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

/** It was counted at another moment: fewer than those that are shown would be no number of all. */
function shownOf(shown: number, total: number | null): string {
  return total !== null && total > shown ? `${shown} of ${count(total)} shown` : `${shown} shown`;
}

function Row({ entry }: { readonly entry: WireEntry }): JSX.Element {
  const { id, state, reportId, requestId, receivedAt } = entry;
  return (
    <li>
      <To route={{ screen: "delivery", id }}>
        <StateBadge state={state} />
        <span class="what">
          {eventLabel(entry)} {reportId !== null && <bdi class="report">{reportId}</bdi>}{" "}
          {requestId !== null && (
            <span class="report">
              request <bdi>{requestId}</bdi>
            </span>
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
    <Empty title="No delivery yet">
      <p>
        Send a test to your webhook: <code>npx reporthook test --to URL</code>. It appears here at
        once.
      </p>
    </Empty>
  );
}
