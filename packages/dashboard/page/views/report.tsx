import type { JSX } from "preact";
import type { WireReport, WireReportOne } from "../../src/deliveries/wire.ts";
import { ActionButton, Command } from "../confirm.tsx";
import { Frame } from "../frame.tsx";
import { reportLabels, reportState } from "../labels.ts";
import { post, useLive } from "../live.ts";
import { Ago, Copy, Loading, Missing, Moment, Named, Quoted, StateBadge, To } from "../parts.tsx";
import { DeliveryRow } from "./deliveries.tsx";
import type { TimelineStep } from "./timeline.ts";
import { Way } from "./way.tsx";

/** One report, by its request: its state, its course, its deliveries, and for whom it is. */
export function ReportScreen({ id }: { readonly id: string }): JSX.Element {
  const told = useLive<WireReportOne>(`api/reports/${encodeURIComponent(id)}`);
  const { data } = told;
  return (
    <Frame title={`Request ${id}`} screen="report" told={told}>
      {data === null ? (
        <Loading />
      ) : data.report === null ? (
        <Missing what="request" id={id} to={{ screen: "reports", of: "open" }}>
          Settled ones are kept as long as handled deliveries, others for 30 days after they are
          due.
        </Missing>
      ) : (
        <Whole {...data} report={data.report} />
      )}
    </Frame>
  );
}

function Whole({
  viewer,
  receiver,
  report,
  deliveries,
}: WireReportOne & { readonly report: WireReport }): JSX.Element {
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
            <To route={{ screen: "deliveries", filters: { report: reportId } }}>
              <bdi>{reportId}</bdi>
            </To>
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
          <p>
            Due <Moment at={dueAt} /> (<Ago at={dueAt} />)
          </p>
        )}
        {settledAt === null && <Settling mayAct={viewer.may === "act"} {...{ receiver, id }} />}
      </section>
      <Way title="Course" steps={courseOf(report)} />
      <Deliveries id={id} deliveries={deliveries} />
      <section aria-labelledby="whom">
        <h2 id="whom">For whom</h2>
        <Named of={{ Key: idempotencyKey ?? "None" }} />
        <Quoted text={report.context} none="No context was given." />
      </section>
      <section aria-labelledby="asked">
        <h2 id="asked">Asked for</h2>
        <Quoted text={report.report} none="" />
      </section>
      <section aria-labelledby="answer">
        <h2 id="answer">Answer of the service</h2>
        <Quoted text={report.answer} none="Not known." />
      </section>
    </article>
  );
}

/** The buttons that settle a report, or the command for who may not. */
function Settling({
  mayAct,
  receiver,
  id,
}: {
  readonly mayAct: boolean;
  readonly receiver: string;
  readonly id: string;
}): JSX.Element {
  const commandOf = (status: string): string =>
    `reports settle ${id} ${status} --receiver ${receiver}`;
  if (!mayAct) return <Command does={commandOf("complete")} />;
  return (
    <div class="buttons">
      {["complete", "internal_error"].map((status) => (
        <ActionButton
          key={status}
          question={{
            verb: `Settle 1 report as ${status}`,
            text: `Your handlers for report.${status} run, with an empty body; the command line can give one with --body. The state stays.`,
            isFinal: true,
            command: commandOf(status),
            run: async () => {
              const done = await post(
                `api/reports/${id}/settle?${new URLSearchParams({ status })}`,
              );
              if (done === 0) throw new Error("It has been settled meanwhile.");
              return `Settled as ${status}.`;
            },
          }}
        >
          Settle as {status}
        </ActionButton>
      ))}
    </div>
  );
}

function Deliveries({
  id,
  deliveries,
}: Pick<WireReportOne, "deliveries"> & { readonly id: string }): JSX.Element {
  return (
    <section aria-labelledby="deliveries">
      <h2 id="deliveries">Deliveries</h2>
      {deliveries === null ? (
        <p>This inbox can’t look for the deliveries of a request.</p>
      ) : deliveries.length === 0 ? (
        <p>None came, or none is kept.</p>
      ) : (
        <>
          <ul class="list">
            {deliveries.map((entry) => (
              <DeliveryRow key={entry.id} entry={entry} />
            ))}
          </ul>
          <p class="soft">
            <To route={{ screen: "deliveries", filters: { request: id } }}>
              In the list of deliveries
            </To>
          </p>
        </>
      )}
    </section>
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
  const steps = told.flatMap(([at, title, tone]) =>
    at === null ? [] : [{ at, title, tone, ms: null, detail: null }],
  );
  return steps.sort((one, other) => one.at.localeCompare(other.at));
}
