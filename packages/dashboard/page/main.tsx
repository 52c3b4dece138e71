import { type JSX, render } from "preact";
import { Confirming } from "./confirm.tsx";
import { followLink, type PageQuery } from "./route.ts";
import { focusMain, keepFocus } from "./screen.tsx";
import { DeliveriesScreen } from "./views/deliveries.tsx";
import { DeliveryScreen } from "./views/delivery.tsx";
import { filtersIn } from "./views/filtering.tsx";
import { Overview } from "./views/overview.tsx";
import { ReportScreen } from "./views/report.tsx";
import { ReportsScreen } from "./views/reports.tsx";

const root = document.getElementById("app") as HTMLElement;
let shown: string | undefined;

/** Shows the screen that the address names. */
function show(): void {
  const query = Object.fromEntries(new URLSearchParams(location.search));
  const place = query["delivery"] ?? query["show"] ?? query["request"] ?? "overview";
  render(<Confirming place={place}>{screenOf(query)}</Confirming>, root);
  // As after a load.
  if (shown !== undefined && shown !== place) focusMain();
  shown = place;
}

function screenOf(query: PageQuery): JSX.Element {
  const { delivery, show, ...filters } = query;
  const { request } = filters;
  if (delivery !== undefined) return <DeliveryScreen key={delivery} id={delivery} />;
  if (show === "deliveries") return <DeliveriesScreen filters={filtersIn(filters)} />;
  if (show === "reports") return <ReportsScreen filters={filters} />;
  return request === undefined ? <Overview /> : <ReportScreen key={request} id={request} />;
}

root.replaceChildren();
keepFocus();
addEventListener("click", followLink);
addEventListener("popstate", show);
show();
