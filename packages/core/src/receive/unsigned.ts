import type { Recognition } from "../events/recognize.ts";
import { type Incoming, plainHeaders } from "../http/incoming.ts";
import { type Arrival, park } from "../inbox/delivery.ts";
import { maxUnsigned } from "../inbox/retention.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { createRate } from "./rate.ts";

const maxWaiting = 100;

/**
 * Makes the only function that admits notifications without a signature: it returns the first state of one, or null if that is
 * refused, by the options or because there are too many.
 */
export function createUnsigned(
  settings: ReceiverSettings,
  reporter: Pick<Reporter, "tell">,
): (claims: Recognition, incoming: Pick<Incoming, "headers">) => Arrival | null {
  const isWithinRate = createRate(settings.clock);
  const arrivalOf = (claims: Recognition, headers: readonly string[]): Arrival | null => {
    const { ack, inbox, name, oncePerMinute, unsignedTests, unsigned } = settings;
    const test = isTest(claims);
    if ((test ? unsignedTests : unsigned) === "refuse") {
      oncePerMinute.warn({ headers }, messages.unsignedRefused);
      return null;
    }
    const load = inbox.backlog(name);
    const full = test ? load.unsignedWaiting >= maxWaiting : load.unsignedHeld >= maxUnsigned;
    if (full || !isWithinRate()) {
      oncePerMinute.warn({ headers }, messages.tooManyUnsigned);
      return null;
    }
    const { type, reportId } = claims;
    if (test) return { to: "verified", verification: "unsigned", type, reportId };
    // Where nothing is stored, what would be held is refused.
    const isRefused = ack === "handled";
    oncePerMinute.warn({ headers }, isRefused ? messages.unsignedRefused : messages.unsignedHeld);
    const message = "It came without a signature. Release it if you trust it.";
    return { ...park("held", "unsigned", message), verification: "unsigned", type, reportId };
  };
  return (claims, incoming) => {
    const headers = Object.keys(plainHeaders(incoming.headers));
    const arrival = arrivalOf(claims, headers);
    if (arrival?.to !== "verified") reporter.tell("unsigned", headers);
    return arrival;
  };
}

function isTest({ type }: Recognition): boolean {
  return type === "test_webhook_endpoint";
}
