import type { JSX } from "preact";
import type { WireDelivery } from "../../src/deliveries/wire.ts";
import { Quoted, To } from "../parts.tsx";

/** The report, the request and the context: whom it concerns. */
export function ForWhom({ delivery }: { readonly delivery: WireDelivery }): JSX.Element {
  const { reportId, requestId, context, url } = delivery;
  const links = [
    ["Report", reportId, { screen: "deliveries", filters: { report: reportId ?? "" } }],
    ["Request", requestId, { screen: "report", id: requestId ?? "" }],
  ] as const;
  return (
    <section aria-labelledby="whom">
      <h2 id="whom">For whom</h2>
      <dl>
        {links.map(([name, id, route]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {id === null ? (
                "Not known"
              ) : (
                <To route={route}>
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
      <Quoted text={context} none="No context: its callback URL had none." />
    </section>
  );
}
