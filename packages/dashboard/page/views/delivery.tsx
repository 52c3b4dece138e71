import type { JSX } from "preact";
import { errorOf } from "../../src/deliveries/errors.ts";
import type { WireDelivery, WireOne } from "../../src/deliveries/wire.ts";
import { Actions } from "../actions.tsx";
import { Frame } from "../frame.tsx";
import { eventLabel, reasonHint, reasonName, stateLabels } from "../labels.ts";
import { useLive } from "../live.ts";
import {
  Ago,
  Code,
  Copy,
  Loading,
  Missing,
  Moment,
  Named,
  Quoted,
  StateBadge,
  To,
} from "../parts.tsx";
import type { Route } from "../route.ts";
import { timelineOf } from "./timeline.ts";
import { Way } from "./way.tsx";

/** One delivery: its state and reason, its history, and its body. */
export function DeliveryScreen({ id }: { readonly id: string }): JSX.Element {
  const told = useLive<WireOne>(`api/deliveries/${encodeURIComponent(id)}`);
  const { data } = told;
  return (
    <Frame title={`Delivery ${id}`} screen="delivery" told={told}>
      {data === null ? (
        <Loading />
      ) : data.delivery === null ? (
        <Missing what="delivery" id={id} to={{ screen: "deliveries", filters: {} }}>
          Handled deliveries are kept for 7 days, parked ones for 30.
        </Missing>
      ) : (
        <Whole {...data} delivery={data.delivery} />
      )}
    </Frame>
  );
}

function Whole({
  viewer,
  receiver,
  delivery,
}: WireOne & { readonly delivery: WireDelivery }): JSX.Element {
  const { id, state, reportId, reason, receivedAt, headers } = delivery;
  return (
    <article>
      <div class="title">
        <h1>
          {eventLabel(delivery)}{" "}
          {reportId !== null && (
            <To route={{ screen: "deliveries", filters: { report: reportId } }}>
              <bdi>{reportId}</bdi>
            </To>
          )}
        </h1>
        <StateBadge state={state} />
      </div>
      <p class="soft">
        <code>{id}</code>, received <Moment at={receivedAt} /> (<Ago at={receivedAt} />)
        <Copy text={location.href}>Copy link</Copy>
      </p>
      <section class={`verdict is-${state}`} aria-label="State">
        {reason === null ? (
          <Standing delivery={delivery} />
        ) : (
          <Reason delivery={delivery} reason={reason} />
        )}
        {viewer.may === "act" && <Actions receiver={receiver} delivery={delivery} />}
      </section>
      <Way title="History" steps={timelineOf(delivery)} />
      <ForWhom delivery={delivery} />
      <Headers headers={headers} />
      <Body id={id} body={delivery.body} />
    </article>
  );
}

function Reason({
  delivery,
  reason,
}: {
  readonly delivery: WireDelivery;
  readonly reason: NonNullable<WireDelivery["reason"]>;
}): JSX.Element {
  const { lastError } = delivery;
  const error = errorOf(delivery);
  // It ends with the error, which stands above.
  const message = reason.message.replace(` Last: ${lastError?.split("\n", 1)}`, "");
  const parked = delivery.state === "rejected" ? {} : { state: "parked" };
  return (
    <>
      <p class="lead">
        <bdi>{error}</bdi>
      </p>
      <p>
        {stateLabels[delivery.state].name}:{" "}
        <To route={{ screen: "deliveries", filters: { ...parked, reason: reason.code } }}>
          {reasonName(reason.code)}
        </To>{" "}
        <Code of={reason.code} />
      </p>
      {message !== error && (
        <p>
          <bdi>{message}</bdi>
        </p>
      )}
      <p class="soft">{reasonHint(reason.code)}</p>
    </>
  );
}

/** The report, the request and the context: whom it concerns. */
function ForWhom({ delivery }: { readonly delivery: WireDelivery }): JSX.Element {
  const { reportId, requestId, context, url } = delivery;
  const linked = (id: string | null, route: (id: string) => Route) =>
    id === null ? "Not known" : <To route={route(id)}>{id}</To>;
  const facts = {
    Report: linked(reportId, (report) => ({ screen: "deliveries", filters: { report } })),
    Request: linked(requestId, (id) => ({ screen: "report", id })),
    Path: url === "" ? "Not kept" : url,
  };
  return (
    <section aria-labelledby="whom">
      <h2 id="whom">For whom</h2>
      <Named of={facts} />
      <Quoted text={context} none="No context: its callback URL had none." />
    </section>
  );
}

function Headers({ headers }: Pick<WireDelivery, "headers">): JSX.Element {
  return (
    <section aria-labelledby="headers">
      <h2 id="headers">Stored headers</h2>
      {Object.keys(headers).length === 0 ? (
        <p>None. Only content-type, user-agent and traceparent are stored.</p>
      ) : (
        <Named of={headers} />
      )}
    </section>
  );
}

function Standing({ delivery }: { readonly delivery: WireDelivery }): JSX.Element {
  const { state, nextAttemptAt, lastError, attempts } = delivery;
  const { name, meaning } = stateLabels[state];
  return (
    <>
      <p class="lead">
        {name}: {state === "handled" ? (lastError ?? meaning) : meaning}
      </p>
      {nextAttemptAt !== null && attempts > 0 && (
        <p>
          {attempts === 1 ? "1 attempt failed" : `${attempts} attempts failed`}, next try{" "}
          <Ago at={nextAttemptAt} />.
        </p>
      )}
      {nextAttemptAt !== null && lastError !== null && (
        <p>
          <bdi>{errorOf(delivery)}</bdi>
        </p>
      )}
    </>
  );
}

function Body({ id, body }: Pick<WireDelivery, "id" | "body">): JSX.Element {
  return (
    <section aria-labelledby="body">
      <div class="title">
        <h2 id="body">Body</h2>
        {body !== null && <Copy text={body.text}>Copy</Copy>}
      </div>
      {body === null ? (
        <p>
          Not kept: of a rejected delivery after some time, of an unsigned one that was handled, or
          erased.
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable with the keyboard.
        <section class="body" tabIndex={0} aria-label="Text of the body">
          <pre>{body.text}</pre>
        </section>
      )}
      {body?.isCut === true && (
        <p>
          Truncated: <a href={`api/deliveries/${id}/body`}>the whole body</a>.
        </p>
      )}
    </section>
  );
}
