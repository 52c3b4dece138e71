import type { JSX } from "preact";
import type { WireReport, WireReports, WireView } from "../../src/deliveries/wire.ts";
import { count, reportState } from "../labels.ts";
import { Ago, Empty, Moment, StateBadge } from "../parts.tsx";
import { at, type PageQuery } from "../route.ts";
import { useView } from "../screen.tsx";
import { ListScreen } from "./listing.tsx";

const names = { open: "Open", overdue: "Overdue", done: "Done" };

/** The reports that were asked for, by how far they are; only older ones than `after`, if it is given. */
export function ReportsScreen({ filters }: { readonly filters: PageQuery }): JSX.Element {
  const { of = "open", after } = filters;
  return (
    <ListScreen<WireReport, WireReports>
      title="Reports"
      filters={filters}
      top={<Lists of={of} />}
      totalOf={(list) => (after === undefined ? (sumsOf(list)[of] ?? null) : null)}
      beyond={({ id }) => at({ show: "reports", of, after: id })}
      row={rowOf}
      nothing={
        <Empty title={of === "overdue" ? "No report is overdue" : "No report here"}>
          <p>
            Reports that are asked for with <code>receiver.reports.request(…)</code> appear here at
            once.
          </p>
        </Empty>
      }
    />
  );
}

/** The lists, each with the number of its reports. */
function Lists({ of }: { readonly of: string }): JSX.Element {
  const sums = sumsOf(useView());
  return (
    <>
      <h1>Reports</h1>
      <nav class="lists" aria-label="Reports by state">
        {Object.entries(names).map(([list, name]) => (
          <a
            key={list}
            href={at({ show: "reports", of: list })}
            aria-current={list === of ? "page" : undefined}
          >
            {name} {list in sums && <span class="number">{count(sums[list] ?? 0)}</span>}
          </a>
        ))}
      </nav>
    </>
  );
}

function rowOf(report: WireReport): JSX.Element {
  const { id, context, reportId, requestedAt, settledAt, dueAt } = report;
  return (
    <li key={id}>
      <a href={at({ request: id })}>
        <StateBadge state={reportState(report)} />
        <span class="what">
          <bdi>{reportId ?? "no report id yet"}</bdi>
          <br />
          <code>
            request <bdi>{id}</bdi>
          </code>
        </span>
        <span class="why">
          <bdi>{context ?? "no context"}</bdi>
          <span>
            {settledAt === null ? "due " : "settled "}
            <Ago at={settledAt ?? dueAt} />
          </span>
        </span>
        <Moment at={requestedAt} />
      </a>
    </li>
  );
}

/** How many each list has; of none as long as that is unknown. */
function sumsOf(view: WireView | null): Readonly<Record<string, number>> {
  if (!view?.reports) return {};
  const { unconfirmed, open, overdue, complete, internal_error: failed } = view.reports;
  return { open: unconfirmed + open, overdue, done: complete + failed };
}
