import type { JSX } from "preact";
import type { WireReport, WireReportOne } from "../../src/deliveries/wire.ts";
import { type Action, Actions } from "../confirm.tsx";
import { reportLabels, reportState } from "../labels.ts";
import { post } from "../live.ts";
import {
  Ago,
  Copy,
  Moment,
  missing,
  named,
  Section,
  StateBadge,
  textOr,
  wayOf,
} from "../parts.tsx";
import { at, listAt } from "../route.ts";
import { Screen } from "../screen.tsx";
import { rowOf } from "./deliveries.tsx";
import type { TimelineStep } from "./timeline.ts";

const kept =
  "Settled ones are kept as long as handled deliveries, others for at least 30 days after they are due.";

/** One report, by its request: its state, its course, its deliveries, and for whom it is. */
export function ReportScreen({ id }: { readonly id: string }): JSX.Element {
  return (
    <Screen<WireReportOne>
      title={`Request ${id}`}
      address={`api/reports/${encodeURIComponent(id)}`}
    >
      {({ report, deliveries }) =>
        report === null
          ? missing("request", id, at({ show: "reports" }), kept)
          : wholeOf(report, deliveries)
      }
    </Screen>
  );
}

function wholeOf(report: WireReport, deliveries: WireReportOne["deliveries"]): JSX.Element {
  const { id, reportId, requestedAt, settledAt, dueAt, idempotencyKey } = report;
  const state = reportState(report);
  const { name, meaning } = reportLabels[state];
  return (
    <article>
      <div class="title">
        <h1>
          Report{" "}
          {reportId === null ? (
            "without an id yet"
          ) : (
            <a href={listAt({ report: reportId })}>
              <bdi>{reportId}</bdi>
            </a>
          )}
        </h1>
        <StateBadge state={state} />
      </div>
      <p class="soft">
        Request <code>{id}</code>, asked <Moment at={requestedAt} /> (<Ago at={requestedAt} />)
        <Copy text={location.href}>Copy link</Copy>
      </p>
      <section class={`verdict is-${state}`} aria-label="State">
        <p class="lead">
          {name}: {meaning}
        </p>
        {settledAt === null && (
          <>
            <p>
              Due <Moment at={dueAt} /> (<Ago at={dueAt} />)
            </p>
            <Actions of={["complete", "internal_error"].map(settling(id))} elseCommand />
          </>
        )}
      </section>
      <Section title="Course">{wayOf(courseOf(report))}</Section>
      <Section title="Deliveries">{deliveriesOf(id, deliveries)}</Section>
      <Section title="For whom">
        {named({ Key: idempotencyKey ?? "None" })}
        {textOr(report.context, "No context was given.")}
      </Section>
      <Section title="Asked for">{textOr(report.report, "")}</Section>
      <Section title="Answer of the service">{textOr(report.answer, "Not known.")}</Section>
    </article>
  );
}

/** Makes the actions that settle a report. */
function settling(id: string): (status: string) => Action {
  return (status) => ({
    label: `Settle as ${status}`,
    verb: `Settle 1 report as ${status}`,
    text: `Your handlers for report.${status} run, with an empty body, unless a schema refuses that; the command line can give one with --body. The state stays.`,
    isFinal: true,
    command: `reports settle ${id} ${status}`,
    run: async () => {
      const done = await post(`api/reports/${id}/settle?${new URLSearchParams({ status })}`);
      if (done === 0) throw new Error("It has been settled meanwhile.");
      return `Settled as ${status}.`;
    },
  });
}

function deliveriesOf(id: string, deliveries: WireReportOne["deliveries"]): JSX.Element {
  if (deliveries === null) return <p>This inbox can’t look for the deliveries of a request.</p>;
  if (deliveries.length === 0) return <p>None came, or none is kept.</p>;
  return (
    <>
      <ul class="list">{deliveries.map(rowOf)}</ul>
      <p class="soft">
        <a href={listAt({ request: id })}>In the list of deliveries</a>
      </p>
    </>
  );
}

/** The steps of a report so far, in order, and the next one. */
function courseOf(report: WireReport): readonly TimelineStep[] {
  const { state, requestedAt, confirmedAt, processingAt, dueAt, overdueAt, settledAt } = report;
  const isSettled = settledAt !== null;
  const told = [
    [requestedAt, "Requested", "good"],
    [confirmedAt, "Confirmed: the service has it", "good"],
    [processingAt, "Processing", "good"],
    [isSettled ? null : dueAt, "Due", overdueAt === null ? "next" : "plain"],
    [overdueAt, "Told as overdue", "bad"],
    [settledAt, reportLabels[state].name, state === "complete" ? "good" : "bad"],
  ] as const;
  const steps = told.flatMap(([at, title, tone]) => (at === null ? [] : [{ at, title, tone }]));
  return steps.sort((one, other) => one.at.localeCompare(other.at));
}
