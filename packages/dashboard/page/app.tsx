import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Confirming } from "./confirm.tsx";
import { DeliveriesScreen } from "./deliveries.tsx";
import { DeliveryScreen } from "./delivery.tsx";
import { focusMain, useFocus } from "./frame.tsx";
import { Overview } from "./overview.tsx";
import { useRoute } from "./route.ts";

/** The dashboard: the screen that the address names. */
export function App(): JSX.Element {
  const route = useRoute();
  const { screen } = route;
  const place = screen === "delivery" ? route.id : screen;
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
      ) : (
        <DeliveryScreen key={route.id} id={route.id} />
      )}
    </Confirming>
  );
}
