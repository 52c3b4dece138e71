import { type JSX, render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Confirming } from "./confirm.tsx";
import { useRoute } from "./route.ts";
import { focusMain, useFocus } from "./screen.tsx";
import { DeliveriesScreen } from "./views/deliveries.tsx";
import { DeliveryScreen } from "./views/delivery.tsx";
import { Overview } from "./views/overview.tsx";
import { ReportScreen } from "./views/report.tsx";
import { ReportsScreen } from "./views/reports.tsx";

/** The dashboard: the screen that the address names. */
function App(): JSX.Element {
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

const root = document.getElementById("app");
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
}
