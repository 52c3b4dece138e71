import type { Callbacks } from "../callback-urls/callback-url.ts";
import type { RequestedReport } from "../client/client.ts";
import { reportBody } from "../client/report-request.ts";
import { InvalidReportRequestError, ReporthookError } from "../errors.ts";
import { newId } from "../inbox/id.ts";
import type { Life } from "../inbox/receivers.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { realClock } from "../lib/time/real-timers.ts";
import { assertKnownKeys, assertMs, assertOption } from "../lib/validate.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { newRequest, sendRequest } from "./asking.ts";
import type { KnownRequests } from "./known-requests.ts";
import {
  assertOpen,
  checkId,
  found,
  keepsNone,
  type StoredReports,
  storedReports,
} from "./looking.ts";
import type { ReportRequests, RequestOptions } from "./reports-type.ts";
import { isSettled, type KnownRequest, requestRecordOf } from "./request.ts";

const known = ["context", "idempotencyKey", "overdueMs", "signal", "resend"];
const [firstMs, lastMs] = [250, 5_000];

/** The reports of a receiver: asks for them, and waits for their end. */
export class OwnReports implements ReportRequests {
  readonly get: StoredReports["get"];
  readonly list: StoredReports["list"];
  readonly counts: StoredReports["counts"];
  readonly settle: StoredReports["settle"];
  readonly #settings: ReceiverSettings;
  readonly #callbacks: Callbacks | null;
  readonly #requests: KnownRequests;
  readonly #life: Life;
  readonly #waiting = new Set<() => void>();

  constructor(
    settings: ReceiverSettings,
    callbacks: Callbacks | null,
    requests: KnownRequests,
    life: Life,
  ) {
    this.#settings = settings;
    this.#callbacks = callbacks;
    this.#requests = requests;
    this.#life = life;
    requests.onSettled = this.wake;
    const stored = storedReports(settings, requests, life);
    this.get = (id) => this.#kept(() => stored.get(id));
    this.list = (query) => this.#kept(() => stored.list(query));
    this.counts = () => this.#kept(stored.counts);
    this.settle = (id, status, options) => this.#kept(() => stored.settle(id, status, options));
  }

  readonly request = async (
    report: RequestedReport,
    options: RequestOptions = {},
  ): ReturnType<ReportRequests["request"]> => {
    const { callbacks, url } = this.#asked();
    const { clock, name, time, callback } = this.#settings;
    const { signal, idempotencyKey = null, resend = false, ...rest } = checked(options);
    const { overdueMs = callback?.overdueMs ?? 86_400_000 } = rest;
    const context = contextText(rest.context);
    if (report?.webhook_url !== undefined) throw new InvalidReportRequestError([ownAddress]);
    const body = JSON.parse(reportBody({ ...report, webhook_url: url })) as RequestedReport;
    const { webhook_url: _, ...asked } = body;
    signal?.throwIfAborted();
    assertOpen(this.#life, name);
    await time.join();
    const [now, wallNow] = [clock.now(), clock.wallNow()];
    const parts = { id: newId(wallNow), receiver: name, idempotencyKey, context };
    const made = newRequest(parts, asked, overdueMs, { now, wallNow });
    const earlier = await this.#requests.add(made);
    if (earlier !== null && !isSame(earlier, made)) throw reused(earlier.id);
    if (earlier !== null && !(resend && earlier.state === "unconfirmed")) {
      return { id: earlier.id, answer: earlier.answer };
    }
    const request = earlier ?? made;
    const settings = { ...this.#settings, url };
    const isSentBefore = earlier !== null;
    const answer = await sendRequest(
      request,
      isSentBefore,
      signal,
      settings,
      callbacks,
      this.#requests,
    );
    return { id: request.id, answer };
  };

  readonly wait: ReportRequests["wait"] = (id, options = {}) =>
    this.#kept(async () => {
      checkId("wait", id);
      assertKnownKeys("reports.wait", options, ["timeoutMs", "signal"]);
      const { timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
      assertMs("reports.wait: timeoutMs", timeoutMs);
      const { clock, name, time } = this.#settings;
      await time.join();
      // A virtual clock may stand still, or leap.
      const [since, realSince] = [clock.now(), realClock.now()];
      const left = (): number =>
        timeoutMs - Math.max(clock.now() - since, realClock.now() - realSince);
      for (let ms = firstMs; ; ms = Math.min(1.5 * ms, lastMs)) {
        signal?.throwIfAborted();
        assertOpen(this.#life, name);
        const request = found(await this.#requests.find(id), id);
        if (isSettled(request)) return requestRecordOf(request);
        if (left() <= 0) throw waitedFor(request, timeoutMs);
        await this.#pause(Math.min(ms, left()), signal);
      }
    });

  /** The receiver is closed: nothing is recorded any more, and nobody waits. */
  end(): void {
    this.#requests.isClosed = true;
    this.wake();
  }

  /** Has all that wait look again. */
  readonly wake = (): void => {
    for (const look of [...this.#waiting]) look();
  };

  #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        realClock.clearTimeout(timer);
        signal?.removeEventListener("abort", look);
        this.#waiting.delete(look);
        resolve();
      };
      const timer = setUnrefTimeout(realClock, look, ms);
      signal?.addEventListener("abort", look);
      this.#waiting.add(look);
    });
  }

  async #kept<T>(run: () => Promise<T>): Promise<T> {
    if (this.#settings.ack === "handled") throw new TypeError(nothingKept);
    if (this.#requests.store === undefined) throw new TypeError(keepsNone);
    return run();
  }

  /** The callback URLs and the address that a request needs. */
  #asked(): { readonly callbacks: Callbacks; readonly url: string } {
    const { ack, callback, client } = this.#settings;
    if (ack === "handled") throw new TypeError(nothingKept);
    if (this.#requests.store === undefined) throw new TypeError(keepsNone);
    const url = callback?.url;
    if (this.#callbacks === null || url === undefined) {
      throw new TypeError(
        'receiver.reports.request needs the option callback with secrets and url, the public address of this receiver, like "https://app.example/webhooks/reports"',
      );
    }
    if (typeof client.requestReport !== "function") {
      throw new TypeError(
        "receiver.reports.request needs a client with requestReport, such as createClient(…) makes",
      );
    }
    return { callbacks: this.#callbacks, url };
  }
}

const nothingKept =
  'receiver.reports needs ack: "stored", the default: with ack: "handled" nothing is kept of a request';
const ownAddress = {
  field: "webhook_url",
  message: "must be left out: the receiver sets it, with a token of its own",
};

function checked(options: RequestOptions): RequestOptions {
  assertKnownKeys("reports.request", options, known);
  const { idempotencyKey: key, overdueMs = 1, signal, resend = false } = options;
  const isKey = typeof key === "string" && key.length >= 1 && key.length <= 200;
  const expected = "a string of 1 to 200 characters";
  assertOption("reports.request: idempotencyKey", expected, key, key === undefined || isKey);
  const isSpan = Number.isSafeInteger(overdueMs) && overdueMs > 0 && overdueMs < 1e13;
  assertOption("reports.request: overdueMs", "milliseconds from 1", overdueMs, isSpan);
  const isSignal = signal === undefined || typeof signal?.throwIfAborted === "function";
  assertOption("reports.request: signal", "an AbortSignal", signal, isSignal);
  assertOption("reports.request: resend", "true or false", resend, typeof resend === "boolean");
  if (resend) assertOption("reports.request: idempotencyKey, with resend,", expected, key, isKey);
  return options;
}

function contextText(context: unknown): string | null {
  if (context === undefined) return null;
  const text: string | undefined = JSON.stringify(context);
  if (text !== undefined) return text;
  throw new TypeError("reports.request: context must be something that JSON can hold");
}

function isSame(one: KnownRequest, other: KnownRequest): boolean {
  const contextOf = ({ context }: KnownRequest): unknown =>
    context === null ? undefined : JSON.parse(context);
  return (
    sorted(one.report) === sorted(other.report) &&
    sorted(contextOf(one)) === sorted(contextOf(other))
  );
}

/** The JSON text of a value, the same for equal ones. */
function sorted(value: unknown): string | undefined {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}

function reused(id: string): ReporthookError {
  const message = `The idempotencyKey is that of request ${id}, for another report or context: give each request a key of its own`;
  return new ReporthookError("idempotency_key_reused", message);
}

function waitedFor({ id, state }: KnownRequest, timeoutMs: number): ReporthookError {
  return new ReporthookError("wait_timeout", `Request ${id} is ${state} after ${timeoutMs} ms`);
}
