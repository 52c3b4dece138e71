import type { HTMLAttributes, JSX, TargetedFocusEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { WireEntry, WireList } from "../src/wire.ts";
import { ReleaseAll } from "./actions.tsx";
import { Frame } from "./frame.tsx";
import { useLive } from "./live.ts";
import { Ago, Empty, Moment, Pending, StateBadge, To, Why } from "./parts.tsx";
import { type Filters, go } from "./route.ts";
import { events, kindOf, reasons, reasonWithCode, states } from "./words.ts";

/** The newest deliveries that fit the filters, as they come and change. */
export function Deliveries({ filters }: { readonly filters: Filters }): JSX.Element {
  const address = `api/deliveries?${new URLSearchParams({ ...filters })}`;
  const told = useLive<WireList>(address);
  return (
    <Frame title="Deliveries" screen="deliveries" told={told}>
      <h1>Deliveries</h1>
      <Filtering filters={filters} />
      {told.data === null ? (
        <Pending lines={12} />
      ) : (
        <Found key={address} address={address} list={told.data} filters={filters} />
      )}
    </Frame>
  );
}

function Filtering({ filters }: { readonly filters: Filters }): JSX.Element {
  // What was typed a moment ago goes with whatever is chosen next, and nowhere once this is left.
  const typed = useRef<Filters>({});
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(typing.current), []);
  const show = (wanted: Filters, replace: boolean): void => {
    clearTimeout(typing.current);
    typed.current = {};
    const given = Object.entries(wanted).filter(([, value]) => value !== "");
    go({ screen: "deliveries", filters: Object.fromEntries(given) }, { replace });
  };
  const change = (name: keyof Filters, value: string, replace: boolean): void =>
    show({ ...filters, ...typed.current, [name]: value.trim() }, replace);
  const text = (name: "id" | "report", label: string, hint: string): JSX.Element => (
    <label>
      <span>{label}</span>
      <input
        type="search"
        name={name}
        value={filters[name] ?? ""}
        placeholder={hint}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget: { value } }) => {
          clearTimeout(typing.current);
          typed.current = { ...typed.current, [name]: value.trim() };
          typing.current = setTimeout(() => change(name, value, true), 250);
        }}
      />
    </label>
  );
  const choice = (
    name: "state" | "event" | "reason",
    label: string,
    options: readonly (readonly [string, string])[],
  ): JSX.Element => (
    <label>
      <span>{label}</span>
      <select
        name={name}
        value={filters[name] ?? ""}
        onChange={({ currentTarget: { value } }) => change(name, value, false)}
      >
        <option value="">Any</option>
        {options.map(([value, title]) => (
          <option key={value} value={value} selected={filters[name] === value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
  const moment = (name: "from" | "until", label: string): JSX.Element => (
    <label>
      <span>{label}</span>
      <input
        type="datetime-local"
        name={name}
        value={localOf(filters[name])}
        onChange={({ currentTarget: { value } }) =>
          change(name, value === "" ? "" : new Date(value).toISOString(), false)
        }
      />
    </label>
  );
  const stateNames = Object.entries(states).map(([state, { name }]) => [state, name] as const);
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {choice("state", "State", [["parked", "Parked (held or dead)"], ...stateNames])}
      {choice(
        "reason",
        "Reason",
        Object.keys(reasons).map((code) => [code, reasonWithCode(code)] as const),
      )}
      {choice(
        "event",
        "Event",
        events.map((name) => [name, name] as const),
      )}
      {text("report", "Report", "exact id")}
      {text("id", "Delivery", "id, or how it begins")}
      {moment("from", "From")}
      {moment("until", "Until")}
      <button
        type="button"
        disabled={Object.keys(filters).length === 0}
        onClick={() => show({}, false)}
      >
        Clear
      </button>
    </form>
  );
}

/** The local time that an input of a browser takes. */
function localOf(iso: string | undefined): string {
  const date = new Date(iso ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function Found({
  list,
  address,
  filters,
}: {
  readonly list: WireList;
  readonly address: string;
  readonly filters: Filters;
}): JSX.Element {
  const [older, setOlder] = useState<readonly WireEntry[]>([]);
  const [more, setMore] = useState<boolean | null>(null);
  const { shown, fresh, show, hold } = useHeld(list.entries);
  const entries = [...shown, ...older.filter(({ id }) => !shown.some((one) => one.id === id))];
  const load = async (): Promise<void> => {
    const after = entries.at(-1)?.id ?? "";
    const response = await fetch(`${address}&${new URLSearchParams({ after })}`);
    if (!response.ok) return;
    const page = (await response.json()) as WireList;
    setOlder([...older, ...page.entries]);
    setMore(page.more);
  };
  const { state, reason = "", ...rest } = filters;
  // What is released is what is shown: all that are parked for the reason, and no others.
  const areAll = state === "parked" && reason !== "" && Object.keys(rest).length === 0;
  return (
    <div {...hold}>
      <div class="bar">
        {fresh > 0 ? (
          <button type="button" onClick={show}>
            {fresh} new: show
          </button>
        ) : (
          <span>{entries.length === 0 ? "" : `Newest first, ${entries.length} shown`}</span>
        )}
        {list.viewer.may === "act" && areAll && list.sameReason > 0 && (
          <ReleaseAll reason={reason} number={list.sameReason} />
        )}
      </div>
      {entries.length === 0 ? (
        <Nothing filtered={Object.keys(filters).length > 0} />
      ) : (
        <ul class="list">
          {entries.map((entry) => (
            <Row key={entry.id} entry={entry} />
          ))}
        </ul>
      )}
      {(more ?? list.more) && (
        <button type="button" class="load" onClick={() => void load()}>
          Show older ones
        </button>
      )}
    </div>
  );
}

/** Nothing moves under a pointer or the focus: what is new waits there until it is asked for. */
function useHeld(entries: readonly WireEntry[]): {
  readonly shown: readonly WireEntry[];
  readonly fresh: number;
  readonly show: () => void;
  readonly hold: HTMLAttributes<HTMLDivElement>;
} {
  const [held, setHeld] = useState<ReadonlySet<string> | null>(null);
  const newest = held === null ? 0 : entries.findIndex(({ id }) => held.has(id));
  const fresh = newest === -1 ? entries.length : newest;
  const keep = (): void => setHeld(new Set(entries.map(({ id }) => id)));
  const hold = (): void => {
    if (held === null) keep();
  };
  const letGo = (): void => setHeld(null);
  return {
    shown: entries.slice(fresh),
    fresh,
    show: keep,
    hold: {
      onMouseEnter: hold,
      onMouseLeave: letGo,
      onFocusIn: hold,
      onFocusOut: ({ currentTarget, relatedTarget }: TargetedFocusEvent<HTMLDivElement>) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) letGo();
      },
    },
  };
}

function Row({ entry }: { readonly entry: WireEntry }): JSX.Element {
  const { id, state, reportId, receivedAt, attempts, nextAttemptAt } = entry;
  return (
    <li>
      <To route={{ screen: "delivery", id }}>
        <StateBadge state={state} />
        <span class="what">
          {kindOf(entry)} {reportId !== null && <bdi class="report">{reportId}</bdi>}
        </span>
        <Why entry={entry} />
        <span class="tries">
          {attempts > 1 || nextAttemptAt !== null ? `${attempts} tried` : ""}
          {nextAttemptAt !== null && attempts > 0 && (
            <>
              , next <Ago at={nextAttemptAt} />
            </>
          )}
        </span>
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
