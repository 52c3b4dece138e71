import type { RequestCounts } from "@reporthook/core";
import type { JSX } from "preact";
import type { WireReport, WireReports } from "../../src/deliveries/wire.ts";
import { Frame } from "../frame.tsx";
import { count, reportState } from "../labels.ts";
import { useLive } from "../live.ts";
import { Ago, Empty, Loading, Moment, StateBadge, To } from "../parts.tsx";
import { go } from "../route.ts";
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
  const told = useLive<WireReports>(`api/reports?limit=${paging.limit}&${subject}`, subject);
  const counts = told.data?.reports ?? null;
  const sums = counts === null ? {} : sumsOf(counts);
  return (
    <Frame title="Reports" screen="reports" told={told}>
      <h1>Reports</h1>
      <nav class="lists" aria-label="Reports by state">
        {Object.entries(names).map(([list, name]) => (
          <To key={list} route={{ screen: "reports", of: list }} isCurrent={list === of}>
            {name} {counts && <span class="number">{count(sums[list] ?? 0)}</span>}
          </To>
        ))}
      </nav>
      {told.data === null ? (
        <Loading />
      ) : (
        <Listing
          key={subject}
          list={{ ...told.data, total: after === undefined ? (sums[of] ?? null) : null }}
          paging={paging}
          goBeyond={({ id }) => go({ screen: "reports", of, after: id })}
          row={(report) => <Row key={report.id} report={report} />}
          nothing={<Nothing of={of} />}
        />
      )}
    </Frame>
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

function Nothing({ of }: { readonly of: string }): JSX.Element {
  return (
    <Empty title={of === "overdue" ? "No report is overdue" : "No report here"}>
      <p>
        Reports that are asked for with <code>receiver.reports.request(…)</code> appear here at
        once.
      </p>
    </Empty>
  );
}

/** How many each list has. */
function sumsOf(counts: RequestCounts): Readonly<Record<string, number>> {
  const { unconfirmed, open, overdue, complete, internal_error: failed } = counts;
  return { open: unconfirmed + open, overdue, done: complete + failed };
}
