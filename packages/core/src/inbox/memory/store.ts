import { ReporthookError } from "../../errors.ts";
import { mostUnsigned } from "../delivery.ts";
import { isUnsigned } from "../retention.ts";
import type { Kept } from "../stored-delivery.ts";

const most = {
  ...{ unsignedHandled: mostUnsigned, handled: 1_000, unsignedDead: mostUnsigned },
  ...{ notVerified: 10_000, rejected: 10_000 },
};

type Kind = keyof typeof most;

/** What the texts of an entry may come to before they count: about as much as the entry itself. */
const usualBytes = 256;

/** How many bytes an entry takes beyond what each does. */
export function bytesOf({
  body,
  signature,
  url,
  context,
  headers,
}: Pick<Kept, "body" | "signature" | "url" | "context" | "headers">): number {
  let texts = url.length + (signature?.length ?? 0) + (context?.length ?? 0);
  for (const name in headers) texts += headers[name]?.length ?? 0;
  return (body?.byteLength ?? 0) + Math.max(0, texts - usualBytes);
}

/** How much is kept in memory: bytes of what came, and deliveries at the end of their way that nobody has to look at. */
export class MemoryRoom {
  readonly #maxBytes: number;
  readonly #drop: (kept: Kept) => void;
  // In the order in which they ended, so that the oldest go first.
  readonly #ended = {
    unsignedHandled: new Set<Kept>(),
    handled: new Set<Kept>(),
    unsignedDead: new Set<Kept>(),
    notVerified: new Set<Kept>(),
    rejected: new Set<Kept>(),
  };
  #bytes = 0;

  /** `drop` deletes one that has to make room. */
  constructor(maxBytes: number, drop: (kept: Kept) => void) {
    this.#maxBytes = maxBytes;
    this.#drop = drop;
  }

  /**
   * Takes room for so many bytes, the oldest ended ones making way for them.
   *
   * @throws {ReporthookError} `overloaded` when those that wait fill it
   */
  take(bytes: number): void {
    if (!this.#fits(bytes)) this.#makeRoom(bytes);
    if (!this.#fits(bytes)) {
      throw new ReporthookError(
        "overloaded",
        `The deliveries waiting in memory are over maxBytes (${this.#maxBytes})`,
      );
    }
    this.#bytes += bytes;
  }

  #fits(bytes: number): boolean {
    return this.#bytes + bytes <= this.#maxBytes;
  }

  #makeRoom(bytes: number): void {
    const { unsignedHandled, handled, unsignedDead, notVerified } = this.#ended;
    for (const ended of [unsignedHandled, handled, unsignedDead, notVerified]) {
      for (const kept of ended) {
        this.#drop(kept);
        if (this.#fits(bytes)) return;
      }
    }
  }

  /** So many bytes are no longer kept. */
  free(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** It has ended: handled, rejected and parked ones that nobody vouches for are kept up to a number. */
  end(kept: Kept): void {
    const kind = kindOf(kept);
    if (kind === null) return;
    const ended = this.#ended[kind];
    ended.add(kept);
    const [oldest] = ended;
    if (ended.size > most[kind] && oldest !== undefined) this.#drop(oldest);
  }

  /** It waits again, or is gone. */
  leave(kept: Kept): void {
    for (const ended of Object.values(this.#ended)) ended.delete(kept);
  }
}

/** As what an ended one is counted; null when somebody has to look at it. */
function kindOf(kept: Kept): Kind | null {
  const { state, verification, released } = kept;
  if (state === "rejected") return "rejected";
  if (state === "handled") return isUnsigned(kept) ? "unsignedHandled" : "handled";
  if (state === "dead" && isUnsigned(kept)) return "unsignedDead";
  return verification === "valid" || released ? null : "notVerified";
}
