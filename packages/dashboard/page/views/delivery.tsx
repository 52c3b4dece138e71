import type { JSX } from "preact";
import type { WireDelivery, WireOne } from "../../src/deliveries/wire.ts";
import { actionsOn } from "../actions.tsx";
import { Actions } from "../confirm.tsx";
import { errorOf, eventLabel, reasonHint, reasonName, stateLabels } from "../labels.ts";
import {
  Ago,
  Code,
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
import { timelineOf } from "./timeline.ts";

const kept = "By default handled deliveries are kept for 7 days, parked ones for 30.";

/** One delivery: its state and reason, its history, and its body. */
export function DeliveryScreen({ id }: { readonly id: string }): JSX.Element {
  return (
    <Screen<WireOne> title={`Delivery ${id}`} address={`api/deliveries/${encodeURIComponent(id)}`}>
      {({ delivery }) =>
        delivery === null ? (
          missing("delivery", id, listAt({}), kept)
        ) : (
          <Whole delivery={delivery} />
        )
      }
    </Screen>
  );
}

function Whole({ delivery }: { readonly delivery: WireDelivery }): JSX.Element {
  const { id, state, reportId, receivedAt, headers } = delivery;
  return (
    <article>
      <div class="title">
        <h1>
          {eventLabel(delivery)}{" "}
          {reportId !== null && (
            <a href={listAt({ report: reportId })}>
              <bdi>{reportId}</bdi>
            </a>
          )}
        </h1>
        <StateBadge state={state} />
      </div>
      <p class="soft">
        <code>{id}</code>, received <Moment at={receivedAt} /> (<Ago at={receivedAt} />)
        <Copy text={location.href}>Copy link</Copy>
      </p>
      <section class={`verdict is-${state}`} aria-label="State">
        <Verdict delivery={delivery} />
        <Actions of={actionsOn(delivery)} />
      </section>
      <Section title="History">{wayOf(timelineOf(delivery))}</Section>
      <ForWhom delivery={delivery} />
      <Section title="Stored headers">
        {Object.keys(headers).length === 0 ? (
          <p>None. Only content-type, user-agent and traceparent are stored.</p>
        ) : (
          named(headers)
        )}
      </Section>
      <Body id={id} body={delivery.body} />
    </article>
  );
}

/** The reason of a delivery, if it has one, else what its state means; and its error. */
function Verdict({ delivery }: { readonly delivery: WireDelivery }): JSX.Element {
  const { state, reason, nextAttemptAt, lastError, attempts } = delivery;
  const { name, meaning } = stateLabels[state];
  const error = errorOf(delivery);
  if (reason === null) {
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
            <bdi>{error}</bdi>
          </p>
        )}
      </>
    );
  }
  // It ends with the error, which stands above.
  const message = reason.message.replace(` Last: ${lastError?.split("\n", 1)}`, "");
  const parked = state === "rejected" ? {} : { state: "parked" };
  return (
    <>
      <p class="lead">
        <bdi>{error}</bdi>
      </p>
      <p>
        {name}: <a href={listAt({ ...parked, reason: reason.code })}>{reasonName(reason.code)}</a>{" "}
        <Code of={reason.code} />
      </p>
      {message !== error && (
        <p>
          <bdi>{message}</bdi>
        </p>
      )}
      <p class="soft">{reasonHint(reason.code, state)}</p>
    </>
  );
}

/** The report, the request and the context: whom it concerns. */
function ForWhom({ delivery }: { readonly delivery: WireDelivery }): JSX.Element {
  const { reportId, requestId, context, url } = delivery;
  const linked = (id: string | null, address: (id: string) => string) =>
    id === null ? "Not known" : <a href={address(id)}>{id}</a>;
  const facts = {
    Report: linked(reportId, (report) => listAt({ report })),
    Request: linked(requestId, (request) => at({ request })),
    Path: url === "" ? "Not kept" : url,
  };
  return (
    <Section title="For whom">
      {named(facts)}
      {textOr(context, "No context: its callback URL had none, or it was erased.")}
    </Section>
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
        <p>Not kept: of a rejected delivery after some time, or erased.</p>
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
