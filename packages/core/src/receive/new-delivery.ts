import type { NewDelivery } from "../inbox/delivery.ts";
import { idOf, timeOf } from "../inbox/id.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { ReceivedNotification } from "./read-request.ts";

/** Makes a notification a delivery. */
export function newDelivery(
  { ack, clock, name }: ReceiverSettings,
  { body, headers, signature, url }: ReceivedNotification,
  { id, key, context, requestId }: Pick<NewDelivery, "id" | "key" | "context" | "requestId">,
): NewDelivery {
  return {
    // A delivery that is not stored gets its id from its content: a retry of the sender has the same id.
    id: ack === "handled" && key !== null ? idOf(key) : id,
    receiver: name,
    receivedAt: timeOf(id),
    arrivedAt: clock.now(),
    key,
    signature,
    url,
    context,
    requestId,
    headers,
    body,
  };
}
