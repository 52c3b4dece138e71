import { createHash } from "node:crypto";
import type { State } from "@reporthook/core";
import { idAt, newStoredDelivery, timeOf } from "@reporthook/core/store";
import type { JobState } from "./job-state.ts";

/** A job without a readable delivery. */
interface Remains {
  readonly id: string;
  readonly receiver: string;
  readonly state: State;
  readonly data: unknown;
  /** The time of creation according to BullMQ, which may be lost, too. */
  readonly timestamp: number | undefined;
}

const lost =
  "Its record is lost: it was deleted from outside, or the server deletes what it should keep (Redis: set maxmemory-policy noeviction).";
const foreign =
  "What is in the queue is no delivery as this version writes it: another program has put or changed it. Its body here is what there is.";

/** Whether a job's id is the id of a delivery. */
export function isId(id: unknown): id is string {
  return typeof id === "string" && /^[0-9a-z]{26}$/.test(id);
}

/** The replacement of a record that is lost or unreadable, and the reason. An intact record has more hops. */
export function remainsOf({ id, receiver, state, data, timestamp }: Remains): {
  readonly jobState: JobState;
  readonly damage: string;
} {
  const isLost = typeof data !== "object" || data === null || Object.keys(data).length === 0;
  const damage = isLost ? lost : foreign;
  const receivedAt = isId(id) ? timeOf(id) : Number(timestamp) || Date.now();
  const text = isLost ? "" : JSON.stringify({ record: data });
  const delivery = {
    id: isId(id) ? id : idOf(id, receivedAt),
    receiver,
    receivedAt,
    arrivedAt: receivedAt,
    key: null,
    signature: null,
    url: "",
    context: null,
    requestId: null,
    headers: {},
    body: new TextEncoder().encode(text),
  };
  const stored = newStoredDelivery(delivery, { to: "received" }, null);
  const stage = state === "received" ? "verify" : "handle";
  const reason = { code: "not_understood", message: damage } as const;
  Object.assign(stored, { state, stage, lastError: damage });
  if (state === "held" || state === "dead") stored.reason = reason;
  return { jobState: { stored, key: null, hop: -1, stalls: 0 }, damage };
}

/** Always the same for one job: it is parked once. */
function idOf(id: string, at: number): string {
  return idAt(at) + createHash("sha256").update(id).digest("hex").slice(0, 16);
}
