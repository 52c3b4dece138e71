import type { JSX } from "preact";
import type { WireReport, WireReports, WireView } from "../../src/deliveries/wire.ts";
import { count, reportState } from "../labels.ts";
import { Ago, Empty, Moment, StateBadge, To } from "../parts.tsx";
import { go } from "../route.ts";
import { Screen, useView } from "../screen.tsx";
import { Listing, usePaging } from "./listing.tsx";

const names = { open: "Open", overdue: "Overdue", done: "Done" };

/** The reports that were asked for, by how far they are; only older ones than `after`, if it is given. */
export function ReportsScreen({
  of,
  after,
}: {
  readonly of: string;
  readonly after: string | undefined;
}): JSX.Element {
  const subject = String(new URLSearchParams({ of, ...(after !== undefined && { after }) }));
  const paging = usePaging(subject);
  return (
    <Screen<WireReports>
      title="Reports"
      address={`api/reports?limit=${paging.limit}&${subject}`}
      subject={subject}
      top={<Lists of={of} />}
    >
      {(data) => (
        <Listing
          key={subject}
          list={{ ...data, total: after === undefined ? (sumsOf(data)[of] ?? null) : null }}
          paging={paging}
          goBeyond={({ id }) => go({ screen: "reports", of, after: id })}
          row={(report) => <Row key={report.id} report={report} />}
          nothing={
            <Empty title={of === "overdue" ? "No report is overdue" : "No report here"}>
              <p>
                Reports that are asked for with <code>receiver.reports.request(…)</code> appear here
                at once.
              </p>
            </Empty>
          }
        />
      )}
    </Screen>
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
          <To key={list} route={{ screen: "reports", of: list }} isCurrent={list === of}>
            {name} {list in sums && <span class="number">{count(sums[list] ?? 0)}</span>}
          </To>
        ))}
      </nav>
    </>
  );
}

function Row({ report }: { readonly report: WireReport }): JSX.Element {
  const { id, context, reportId, requestedAt, settledAt, dueAt } = report;
  return (
    <li>
      <To route={{ screen: "report", id }}>
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
      </To>
    </li>
  );
}

/** How many each list has; of none as long as that is unknown. */
function sumsOf(view: WireView | null): Readonly<Record<string, number>> {
  if (!view?.reports) return {};
  const { unconfirmed, open, overdue, complete, internal_error: failed } = view.reports;
  return { open: unconfirmed + open, overdue, done: complete + failed };
}
