import type { Counts } from "@reporthook/core";
import type { WireOverview } from "../../src/deliveries/wire.ts";
import { reasonHint, total } from "../labels.ts";

/** What has to be fixed before anything is handled. */
interface Alarm {
  readonly title: string;
  readonly hint: string;
}

/** Fewer may be somebody's junk. */
const minRejected = 3;

/** The alarm of an overview; null while most notifications pass. */
export function alarmOf({
  service,
  counts,
  minutes,
}: Pick<WireOverview, "service" | "counts" | "minutes">): Alarm | null {
  if (service === "refused") {
    return {
      title: "The service refuses the API key",
      hint: "Nothing is verified, and so nothing handled: set the right API key (option apiKey) and restart the app.",
    };
  }
  if (service === "unreachable") {
    return {
      title: "The service does not answer",
      hint: "Nothing is verified until it does: each delivery is stored, and asked about again automatically.",
    };
  }
  const lately = minutes.map((minute) => minute.counts);
  // While none is handled, the older ones count too.
  const areRejected = isMostRejected(lately) || (counts.handled === 0 && isMostRejected([counts]));
  if (!areRejected) return null;
  return { title: "Most notifications are rejected", hint: reasonHint("invalid_signature") };
}

function isMostRejected(some: readonly Counts[]): boolean {
  const rejected = some.reduce((sum, counts) => sum + counts.rejected, 0);
  const all = some.reduce((sum, counts) => sum + total(counts), 0);
  return rejected >= minRejected && rejected > all / 2;
}
