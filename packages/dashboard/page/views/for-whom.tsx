import type { JSX } from "preact";
import type { WireDelivery } from "../../src/deliveries/wire.ts";
import { Named, Quoted, To } from "../parts.tsx";
import type { Route } from "../route.ts";

/** The report, the request and the context: whom it concerns. */
export function ForWhom({ delivery }: { readonly delivery: WireDelivery }): JSX.Element {
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
