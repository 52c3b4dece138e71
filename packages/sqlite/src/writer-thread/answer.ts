import type { Call } from "../protocol/protocol.ts";
import type { Shelf } from "./admin/admin.ts";
import type { HandOut } from "./claim/claimer.ts";

/** What a call resolves to; `probe` makes sure that something can be written. */
export function answer(call: Call, shelf: Shelf, handOut: HandOut, probe: () => void): unknown {
  switch (call.ask) {
    case "get":
      return shelf.get(call.id, call.receiver);
    case "list":
      return shelf.look.list(call.query);
    case "summary":
      return shelf.look.summary(call.query);
    case "oldestWaiting":
      return shelf.oldestWaiting(call.receiver);
    case "release":
      handOut.lanes.disturb();
      handOut.changed();
      return shelf.release(call.query, call.after);
    case "discard":
      return shelf.discard(call.id, call.receiver);
    case "prune":
      return shelf.prune(call.now);
    case "health":
      return probe();
    case "close":
    case "counts":
      return undefined;
  }
}
