import type { Recognition } from "../events/recognize.ts";
import { type Arrival, park } from "../inbox/delivery.ts";
import type { Backlog } from "../inbox/inbox.ts";
import { maxUnsigned } from "../inbox/retention.ts";
import { messages } from "../log-messages.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { createRate } from "./rate.ts";

const maxWaiting = 100;
// The limit of each process, for the work of handlers. The inbox limits the stored ones.
const perSecond = 10;

/** The first state of an unsigned notification; null if it is refused, by the options or because there are too many. */
export type AdmitUnsigned = (
  claims: Recognition,
  headerNames: readonly string[],
  load: Backlog,
) => Arrival | null;

/** Creates the only place that admits unsigned deliveries. */
export function admitUnsigned(settings: ReceiverSettings): AdmitUnsigned {
  const { ack, clock, oncePerMinute, unsignedTests, unsigned } = settings;
  const withinRate = createRate(clock, perSecond);

  return (claims, headerNames, load) => {
    const test = isTest(claims);
    if ((test ? unsignedTests : unsigned) === "refuse") {
      oncePerMinute.warn({ headers: headerNames }, messages.unsignedRefused);
      return null;
    }
    const full = test ? load.unsignedWaiting >= maxWaiting : load.unsignedHeld >= maxUnsigned;
    if (full || !withinRate()) {
      oncePerMinute.warn({ headers: headerNames }, messages.tooManyUnsigned);
      return null;
    }
    const { type, reportId } = claims;
    if (test) return { to: "verified", verification: "unsigned", type, reportId };
    // Where nothing is stored, what would be held is refused.
    if (ack === "handled") oncePerMinute.warn({ headers: headerNames }, messages.unsignedRefused);
    else oncePerMinute.warn({ headers: headerNames }, messages.unsignedHeld);
    const message = "It came without a signature. Release it if you trust it.";
    return { ...park("held", "unsigned", message), verification: "unsigned", type, reportId };
  };
}

function isTest({ type }: Recognition): boolean {
  return type === "test_webhook_endpoint";
}
