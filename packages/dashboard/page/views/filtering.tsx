import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { events, reasons, reasonWithCode, stateLabels } from "../labels.ts";
import { type Filters, go } from "../route.ts";

// On a phone they are behind a button until one is used: the list begins on its first screen.
const rare = ["event", "report", "request", "error", "id", "from", "until"] as const;

type Options = readonly (readonly [value: string, title: string])[];

const stateOptions: Options = [
  ["parked", "Parked (held or dead)"],
  ...Object.entries(stateLabels).map(([state, { name }]) => [state, name] as const),
];
const reasonOptions: Options = Object.keys(reasons).map((code) => [code, reasonWithCode(code)]);
const eventOptions: Options = events.map((name) => [name, name]);

/** Changes the filters in the address. */
interface FilterChange {
  /** Shows the list with these filters. */
  readonly show: (wanted: Filters, replace: boolean) => void;
  /** Changes one filter; `replace` adds no entry to the browser's history. */
  readonly set: (name: keyof Filters, value: string, replace: boolean) => void;
  /** Changes one filter once typing has paused. */
  readonly setSoon: (name: keyof Filters, value: string) => void;
}

interface FieldProps<Name extends keyof Filters> {
  readonly name: Name;
  readonly label: string;
  readonly filters: Filters;
  readonly change: FilterChange;
}

/** The filters of a list; the address keeps them. */
export function Filtering({ filters }: { readonly filters: Filters }): JSX.Element {
  const change = useFilterChange(filters);
  const common = { filters, change };
  const [isOpen] = useState(
    () => matchMedia("(min-width: 50rem)").matches || rare.some((name) => name in filters),
  );
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <Choice {...common} name="state" label="State" options={stateOptions} />
      <Choice {...common} name="reason" label="Reason" options={reasonOptions} />
      <button
        type="button"
        disabled={Object.keys(filters).length === 0}
        onClick={() => change.show({}, false)}
      >
        Clear
      </button>
      <details open={isOpen}>
        <summary>More filters</summary>
        <div>
          <Choice {...common} name="event" label="Event" options={eventOptions} />
          <TextField {...common} name="report" label="Report" hint="exact id" />
          <TextField {...common} name="request" label="Request" hint="exact id" />
          <TextField {...common} name="error" label="Error" hint="key of a group" />
          <TextField {...common} name="id" label="Delivery" hint="id, or how it begins" />
          <TimeField {...common} name="from" label="From" />
          <TimeField {...common} name="until" label="Until" />
        </div>
      </details>
    </form>
  );
}

function useFilterChange(filters: Filters): FilterChange {
  // Text typed a moment ago is applied with the next choice, and dropped when the screen is left.
  const typed = useRef<Filters>({});
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const forget = (): void => {
    clearTimeout(typing.current);
    typed.current = {};
  };
  useLayoutEffect(() => forget, [filters]);
  const show: FilterChange["show"] = (wanted, replace) => {
    forget();
    const given = Object.entries(wanted).filter(([, value]) => value !== "");
    go({ screen: "deliveries", filters: Object.fromEntries(given) }, { replace });
  };
  const set: FilterChange["set"] = (name, value, replace) =>
    show({ ...filters, ...typed.current, [name]: value.trim() }, replace);
  const setSoon: FilterChange["setSoon"] = (name, value) => {
    clearTimeout(typing.current);
    typed.current = { ...typed.current, [name]: value.trim() };
    typing.current = setTimeout(() => set(name, value, true), 250);
  };
  return { show, set, setSoon };
}

function TextField({
  name,
  label,
  hint,
  filters,
  change,
}: FieldProps<"id" | "report" | "request" | "error"> & { readonly hint: string }): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <input
        type="search"
        name={name}
        value={filters[name] ?? ""}
        placeholder={hint}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget: { value } }) => change.setSoon(name, value)}
      />
    </label>
  );
}

function Choice({
  name,
  label,
  options,
  filters,
  change,
}: FieldProps<"state" | "event" | "reason"> & { readonly options: Options }): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <select
        name={name}
        value={filters[name] ?? ""}
        onChange={({ currentTarget: { value } }) => change.set(name, value, false)}
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
}

function TimeField({ name, label, filters, change }: FieldProps<"from" | "until">): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <input
        type="datetime-local"
        name={name}
        value={localOf(filters[name])}
        min="1970-01-01T00:00"
        max="9999-12-31T23:59"
        onInput={({ currentTarget: { value, validity } }) => {
          // A year of which two digits are typed is a year, too.
          if (!validity.valid) return;
          change.set(name, value === "" ? "" : new Date(value).toISOString(), true);
        }}
        onBlur={({ currentTarget }) => {
          if (!currentTarget.validity.valid) currentTarget.value = localOf(filters[name]);
        }}
      />
    </label>
  );
}

/** The local time that an input of a browser takes. */
function localOf(iso: string | undefined): string {
  const date = new Date(iso ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return "";
  const two = (number: number): string => String(number).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}
