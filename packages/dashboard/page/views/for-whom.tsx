import type { JSX } from "preact";
import type { WireDelivery } from "../../src/deliveries/wire.ts";
import { To } from "../parts.tsx";

/** The report, the request and the context: whom it concerns. */
export function ForWhom({ delivery }: { readonly delivery: WireDelivery }): JSX.Element {
  const { reportId, requestId, context, url } = delivery;
  const links = [
    ["report", "Report", reportId],
    ["request", "Request", requestId],
  ] as const;
  return (
    <section aria-labelledby="whom">
      <h2 id="whom">For whom</h2>
      <dl>
        {links.map(([filter, name, id]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {id === null ? (
                "Not known"
              ) : (
                <To route={{ screen: "deliveries", filters: { [filter]: id } }}>
                  <bdi>{id}</bdi>
                </To>
              )}
            </dd>
          </div>
        ))}
        <div>
          <dt>Path</dt>
          <dd>
            <bdi>{url === "" ? "Not kept" : url}</bdi>
          </dd>
        </div>
      </dl>
      {context === null ? (
        <p>No context: its callback URL had none.</p>
      ) : (
        <pre class="context">
          <bdi>{context}</bdi>
        </pre>
      )}
    </section>
  );
}
