import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Confirming } from "./confirm.tsx";
import { focusMain, useFocus } from "./frame.tsx";
import { useRoute } from "./route.ts";
import { DeliveriesScreen } from "./views/deliveries.tsx";
import { DeliveryScreen } from "./views/delivery.tsx";
import { Overview } from "./views/overview.tsx";
import { ReportScreen } from "./views/report.tsx";
import { ReportsScreen } from "./views/reports.tsx";

/** The dashboard: the screen that the address names. */
export function App(): JSX.Element {
  const route = useRoute();
  const { screen } = route;
  const place = "id" in route ? route.id : screen;
  const before = useRef(place);
  useFocus();
  useEffect(() => {
    // As after a load.
    if (before.current !== place) focusMain();
    before.current = place;
  }, [place]);
  return (
    <Confirming place={place}>
      {screen === "overview" ? (
        <Overview />
      ) : screen === "deliveries" ? (
        <DeliveriesScreen filters={route.filters} />
      ) : screen === "reports" ? (
        <ReportsScreen of={route.of} after={route.after} />
      ) : screen === "report" ? (
        <ReportScreen key={route.id} id={route.id} />
      ) : (
        <DeliveryScreen key={route.id} id={route.id} />
      )}
    </Confirming>
  );
}
