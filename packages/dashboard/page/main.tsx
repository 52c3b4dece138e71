import { type JSX, render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Confirming } from "./confirm.tsx";
import { type Query, useQuery } from "./route.ts";
import { focusMain, useFocus } from "./screen.tsx";
import { DeliveriesScreen } from "./views/deliveries.tsx";
import { DeliveryScreen } from "./views/delivery.tsx";
import { Overview } from "./views/overview.tsx";
import { ReportScreen } from "./views/report.tsx";
import { ReportsScreen } from "./views/reports.tsx";

/** The dashboard: the screen that the address names. */
function App(): JSX.Element {
  const query = useQuery();
  const place = query["delivery"] ?? query["show"] ?? query["request"];
  const before = useRef(place);
  useFocus();
  useEffect(() => {
    // As after a load.
    if (before.current !== place) focusMain();
    before.current = place;
  }, [place]);
  return <Confirming place={place}>{screenOf(query)}</Confirming>;
}

function screenOf(query: Query): JSX.Element {
  const { delivery, show, ...filters } = query;
  const { request } = filters;
  if (delivery !== undefined) return <DeliveryScreen key={delivery} id={delivery} />;
  if (show === "deliveries") return <DeliveriesScreen filters={filters} />;
  if (show === "reports") return <ReportsScreen filters={filters} />;
  return request === undefined ? <Overview /> : <ReportScreen key={request} id={request} />;
}

const root = document.getElementById("app");
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
}
