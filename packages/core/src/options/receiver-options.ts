import type { CallbackOptions } from "../callback-urls/callback-url.ts";
import type { Authorizer } from "../client/authorizer.ts";
import type { Schemas } from "../events/events.ts";
import type { Parse } from "../events/recognize.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { Logger } from "../lib/log.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Observe } from "../observe/hooks.ts";
import type { Instrument, instrumentation } from "../observe/instrumentation.ts";

/** The `signature` option: a header's name, or a function that finds the signature. */
export type SignatureSource =
  | string
  | ((request: {
      readonly headers: Readonly<Record<string, string>>;
      readonly url: string;
      /** The body as text. */
      readonly body: string;
    }) => string | null | undefined);

/** The `retry` option: the number of attempts of failing handlers, and the time between them. */
export interface RetryOptions {
  /** The total number of attempts. */
  readonly attempts: number;
  /** Milliseconds before the second attempt; they double with each further one. */
  readonly minMs: number;
  /** Maximum milliseconds between two attempts. */
  readonly maxMs: number;
}

/** Limits, each with its own code of refusal. */
export interface Limits {
  /** Maximum bytes of a signed body: 262,144. */
  readonly bodyBytes: number;
  /** Milliseconds for a body to arrive: 2,000. */
  readonly bodyMs: number;
  /** Milliseconds that `before-ack` waits for a verdict: 2,500. */
  readonly verifyMs: number;
  /** Milliseconds until the answer, in any case: 4,000. */
  readonly ackMs: number;
  /** Maximum number of deliveries that are neither handled nor parked: 100,000. */
  readonly waiting: number;
  /** Maximum number of deliveries without a verdict; deprioritized ones do not count: 20,000. */
  readonly unverified: number;
}

/** Options of `createReceiver`. */
export interface ReceiverOptions<Context = unknown, S extends Schemas = Schemas> {
  /** Asks the service for verdicts: a client, or anything with `authorize`. */
  readonly client: Authorizer;
  /** The store of deliveries; `memoryInbox()` when left out. */
  readonly inbox?: Inbox | undefined;
  /** The name of the receiver, which is unique on its inbox: `reports`. */
  readonly name?: string | undefined;
  /** `stored`: acknowledge once it is stored; `handled`: verify and handle inside the request, keep nothing. */
  readonly ack?: "stored" | "handled" | undefined;
  /** When authorize is asked: `after-ack`, or `before-ack` within `limits.verifyMs`. */
  readonly verify?: "after-ack" | "before-ack" | undefined;
  /**
   * Where the signature arrives (the document does not show it): `X-svc-authorization`.
   *
   * @example
   * const signature = ({ url }: { url: string }) => new URL(url, "http://localhost").searchParams.get("signature");
   * const receiver = createReceiver({ client, signature });
   */
  readonly signature?: SignatureSource | undefined;
  /** Whether a test notification may come without a signature: `accept`. */
  readonly unsignedTests?: "accept" | "refuse" | undefined;
  /** The treatment of any other notification without a signature: `hold`. */
  readonly unsigned?: "hold" | "refuse" | undefined;
  /** The treatment of a delivery whose signature is older than 5 minutes: `hold`. */
  readonly expired?: "hold" | "handle-after-outage" | "refuse" | undefined;
  /** The treatment of a signature that comes again with other bytes: `accept`, with a warning. */
  readonly reusedSignature?: "accept" | "hold" | undefined;
  /**
   * Recognizes bodies that the built-in table does not know.
   *
   * @example
   * const receiver = createReceiver({
   *   client,
   *   parse: ({ body }) => (body["event_type"] === "done" ? { type: "report.complete" } : null),
   * });
   */
  readonly parse?: Parse | undefined;
  /**
   * Validate `event.body` and give it its type.
   *
   * @example
   * const receiver = createReceiver({ client, schemas: { "report.complete": z.object({ download: z.url() }) } });
   * receiver.on("report.complete", ({ body }) => console.log(body.download));
   */
  readonly schemas?: S | undefined;
  /** The retries of failing handlers. */
  readonly retry?: Partial<RetryOptions> | undefined;
  /** Limits of size, time and number. */
  readonly limits?: Partial<Limits> | undefined;
  /** The concurrency of the stages: 16 authorize calls, 8 deliveries being handled. */
  readonly concurrency?:
    | { readonly verify?: number | undefined; readonly handle?: number | undefined }
    | undefined;
  /** Milliseconds for all handlers of one attempt: 300,000. */
  readonly handlerTimeoutMs?: number | undefined;
  /** Whether mounting starts the work; `false`: receive only, or `start()` by hand. */
  readonly autostart?: boolean | undefined;
  /** Signed callback URLs, see {@link Receiver.callbackUrl}. */
  readonly callback?: CallbackOptions<Context> | undefined;
  /** The clock and its timers: the system's. Tests pass a virtual one. */
  readonly clock?: Clock | undefined;
  /** The destination of log lines; `false` silences. By default, warnings and errors go to the console. */
  readonly logger?: (Pick<Logger, "warn"> & Partial<Logger>) | false | undefined;
  /** Hooks for your metrics, or the result of `alerts`. */
  readonly observe?: Observe | undefined;
  /** The extension point of telemetry, not for apps. */
  readonly [instrumentation]?: Instrument;
}
