import { ReporthookError } from "../errors.ts";
import { isParked, type State } from "./delivery.ts";

/** What is decided on. */
interface Decided {
  readonly id: string;
  readonly state: State;
  /** Null when it is no longer kept. */
  readonly body?: Uint8Array | null;
}

/** @throws ReporthookError `not_releasable` unless it is held, dead, or handled and its body is kept */
export function mustBeReleasable({ id, state, body }: Decided): void {
  if (state === "handled" && body === null) {
    throw new ReporthookError(
      "not_releasable",
      `Delivery ${id} came without a signature: once it was handled its body is not kept. Send the test again`,
    );
  }
  if (isParked(state) || state === "handled") return;
  throw new ReporthookError(
    "not_releasable",
    `Delivery ${id} is ${state}: only held, dead and handled ones can be released`,
  );
}

/** @throws ReporthookError `not_parked` unless it is held or dead */
export function mustBeParked({ id, state }: Decided): void {
  if (isParked(state)) return;
  throw new ReporthookError(
    "not_parked",
    `Delivery ${id} is ${state}: only held and dead ones can be discarded`,
  );
}

/** The error `not_releasable` of one that is to be tried at once, and waits for no later try. */
export function notWaiting(id: string): ReporthookError {
  return new ReporthookError(
    "not_releasable",
    `Delivery ${id} waits for no later try: only one that does can be tried at once`,
  );
}

/** The error `not_found`. */
export function notFound(id: string): ReporthookError {
  return new ReporthookError("not_found", `No delivery with the id ${id}`);
}
