import type { EventName, EventOf, HandlerContext, NoSchemas, Schemas } from "./events/events.ts";
import type { Health } from "./health/health.ts";
import type { FetchContext, Mountable } from "./http/incoming.ts";
import type { ReceiverInbox } from "./inbox/receiver-inbox.ts";
import type { ReportRequests, RequestOptions, WithContext } from "./reports/reports-type.ts";

/** `NoInfer`, which TypeScript has from 5.4 on: names are inferred from the argument `names` alone. */
type Given<T> = [T][T extends unknown ? 0 : never];

/** Receives notifications, verifies them, and calls the handlers of their events. */
export interface Receiver<
  Context = unknown,
  S extends Schemas = NoSchemas,
  Required extends boolean = false,
> extends Mountable {
  /** The option `name`. */
  readonly name: string;
  /**
   * Registers a handler for one name or several. It may run more than once for an event; `once` makes an effect in your database
   * happen exactly once.
   *
   * @throws TypeError for an unknown name; ReporthookError `already_started` once the work has begun
   * @example receiver.on("report.complete", async (event) => save(event.id, event.reportId));
   */
  on<const Name extends EventName>(
    names: Name | readonly Name[],
    handler: (
      event: EventOf<Given<Name>, Context, S, Required>,
      context: HandlerContext,
    ) => void | Promise<void>,
  ): Receiver<Context, S, Required>;
  /**
   * Answers a web standard request; needs no `this`. A Workers `ctx` can be passed as it is. `export default { fetch: receiver.fetch }`
   * is a Workers module too: there the bindings come second, and where these have no `waitUntil`, the third argument's is called.
   * Rejects with a TypeError for anything but a request of that kind, such as one of Express.
   */
  readonly fetch: (
    request: Request,
    context?: FetchContext,
    workersContext?: FetchContext,
  ) => Promise<Response>;
  /**
   * Begins the work by hand and keeps the process alive until `close`. Rejects when the inbox can't be opened, and
   * with `closed` after `close`.
   */
  start(): Promise<void>;
  /**
   * Ends the work within `timeoutMs` (25,000) milliseconds; the inbox has the rest of that time to close, at least 2,000. It waits
   * for running handlers, for connections of closed servers of Node that deliver, and until a memory inbox has worked off all that
   * it acknowledged. Meanwhile notifications are stored, and each answer ends its connection. On a server of Node, call `shutdown`
   * of `@reporthook/core/node` instead. Idempotent. Inside a handler it resolves at once, since it waits for handlers. Rejects
   * `inbox_failed` when the inbox can't be closed in that time.
   */
  close(options?: { readonly timeoutMs?: number | undefined }): Promise<void>;
  /**
   * For tests: resolves when nothing is waiting; rejects `not_idle` after `timeoutMs` (5,000) milliseconds, and at most
   * 2,000 more when the inbox gives no answer.
   */
  idle(options?: { readonly timeoutMs?: number | undefined }): Promise<void>;
  /** The readiness of the receiver, its inbox and the service, and what is wrong; within 500 ms. Never rejects. */
  health(): Promise<Health>;
  /**
   * Makes a unique `webhook_url` for each request: `base` with a signed token, which does not expire. Its context comes back as
   * `event.context`. At most 255 characters; needs the option `callback`.
   *
   * Rejects with a TypeError for a wrong base or context, when the URL is longer, and without the option.
   *
   * @example await client.requestReport({ webhook_url: await receiver.callbackUrl(base, { context: { customer: "c-1" } }) });
   */
  callbackUrl(
    base: string,
    ...options: WithContext<Pick<RequestOptions<Context>, "context">, Context, Required>
  ): Promise<string>;
  /** Reports that are asked for here, and followed to the end; needs an inbox that keeps requests. */
  readonly reports: ReportRequests<Context, Required>;
  /** The receiver's deliveries, for operators. */
  readonly inbox: ReceiverInbox;
}
