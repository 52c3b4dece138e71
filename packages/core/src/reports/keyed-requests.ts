import { contextOf } from "../callback-urls/callback-url.ts";
import { ReporthookError } from "../errors.ts";
import type { StoredRequest } from "../inbox/request-store.ts";
import type { LivedClock } from "../lib/time/lived-clock.ts";
import { realClock } from "../lib/time/real-timers.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import { changeRequest, type KnownRequests } from "./known-requests.ts";

const [lookMs, mostLooks] = [250, 8];
/** Milliseconds that a call of the service takes at most. */
const callMs = 15_000;
const maxUntold = 1_000;

/** Stores requests, one for each idempotency key. */
export class KeyedRequests {
  readonly #requests: KnownRequests;
  readonly #clock: Pick<LivedClock, "wallNow">;
  /** Whether requests were sent of which the inbox does not know that, as it failed: the latest ones, by id. */
  readonly #untold = new Map<string, boolean>();

  constructor(requests: KnownRequests, clock: Pick<LivedClock, "wallNow">) {
    this.#requests = requests;
    this.#clock = clock;
  }

  /**
   * Stores a request, or finds the one that has its key, which is marked if it is to be sent again. Otherwise it waits while another
   * process calls the service for that one, two seconds at most: after a refusal that one is gone.
   */
  async add(
    made: StoredRequest,
    resend: boolean | undefined,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly request: StoredRequest; readonly isNew: boolean }> {
    for (let looks = 0; ; looks++) {
      // Not before: the receiver may be closed meanwhile.
      const { store } = this.#requests;
      const earlier = await store.add(made).catch((error: unknown) => {
        // The inbox may have it all the same.
        this.note(made, false);
        throw error;
      });
      if (earlier === null) return { request: made, isNew: true };
      assertSameContent(made, earlier);
      if (this.#takeUnsent(earlier)) return { request: earlier, isNew: true };
      if (resend && earlier.state === "unconfirmed") {
        const marked = await changeRequest(store, earlier, (read) => ({ ...read, isResent: true }));
        if (marked !== null && !marked.isErased) return { request: marked, isNew: false };
      } else {
        if (looks >= mostLooks || !this.#isBeingSent(earlier)) {
          return { request: earlier, isNew: false };
        }
        // The process stays alive: it may have nothing else to do.
        await settlesWithin(realClock, lookMs, this.#requests.pause(earlier.id, lookMs, signal));
        signal?.throwIfAborted();
      }
    }
  }

  /** Notes whether a request was sent, for the next call with its key, as the inbox can't be told. */
  note({ id }: StoredRequest, isSent: boolean): void {
    const [first] = this.#untold.keys();
    if (this.#untold.size >= maxUntold && first !== undefined) this.#untold.delete(first);
    this.#untold.set(id, isSent);
  }

  /** Whether a request was stored here, and not sent: the next call sends it. */
  #takeUnsent({ id, version }: StoredRequest): boolean {
    return version === 0 && this.#untold.get(id) === false && this.#untold.delete(id);
  }

  /** Whether another process may be calling the service for a request. */
  #isBeingSent({ id, version, dates }: StoredRequest): boolean {
    const isYoung = this.#clock.wallNow() - dates.requestedAt < callMs;
    return version === 0 && isYoung && !this.#untold.has(id);
  }
}

/** @throws ReporthookError `idempotency_key_reused` */
function assertSameContent(made: StoredRequest, earlier: StoredRequest): void {
  if (contentOf(earlier) === contentOf(made)) return;
  const message = `The idempotencyKey is that of request ${earlier.id}, for another report or context: give each request a key of its own`;
  throw new ReporthookError("idempotency_key_reused", message);
}

/** The report and the context of a request as text: the same for equal ones. */
function contentOf(request: StoredRequest): string {
  const content = [request.report, contextOf(request)];
  return JSON.stringify(content, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
