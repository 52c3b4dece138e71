import type { AppUnderTest } from "./http/app-server.ts";
import { createFetch } from "./http/in-process.ts";
import { EmulatorServer } from "./http/listen.ts";
import { createService } from "./http/service.ts";
import { createClock, type VirtualClock } from "./lib/clock.ts";
import { createFaults, type FaultOptions, type FaultTarget } from "./lib/faults.ts";
import { checkOptions } from "./lib/options.ts";
import { sameText } from "./lib/same-text.ts";
import type { Deliver, Delivery } from "./notifications/delivery.ts";
import {
  type Compose,
  createCompose,
  type NotificationName,
} from "./notifications/notification.ts";
import { createReportStore, type Reports } from "./notifications/reports.ts";
import { createSender } from "./notifications/sender.ts";
import { createSigner } from "./notifications/signature.ts";
import { Transport } from "./notifications/transport.ts";
import { Authorizing } from "./operations/authorize.ts";
import { requestingReports } from "./operations/request-report.ts";
import { testingWebhooks } from "./operations/test-webhook.ts";

/** Options of {@link createEmulator}. */
export interface EmulatorOptions {
  /** The only key that the emulator accepts. Default: `"test-api-key"`. */
  readonly apiKey?: string | undefined;
  /** Delivers notifications instead of the network, for example `(request) => app.fetch(request)`. */
  readonly deliver?: Deliver | undefined;
}

/** The emulated service of the document. */
export interface Emulator {
  /** Calls the three operations, like the global `fetch`; any host in the URL works. */
  readonly fetch: typeof globalThis.fetch;
  /** Options for `createClient(emulator.clientOptions)`, a client that needs no network. */
  readonly clientOptions: {
    readonly baseUrl: string;
    readonly apiKey: string;
    readonly fetch: typeof globalThis.fetch;
  };
  /**
   * Serves the same over HTTP, once, until `close()`. Defaults: port 0, which takes a free one, and host
   * `127.0.0.1`. Rejects with a TypeError for an invalid port or an empty host, and with the system's error if it is
   * unavailable.
   */
  listen(port?: number, host?: string): Promise<{ readonly url: string }>;
  /**
   * Creates a signed notification and does not send it (the service's document, section Webhook
   * notification). Each call creates a different signature. With `url`, it has the `path` to post to.
   *
   * @throws TypeError if the name or an option is unknown.
   * @example
   * const { headers, body } = emulator.notification("report.complete", { reportId: "r-1" });
   */
  readonly notification: Compose;
  /** The requested reports; changes their status. */
  readonly reports: Reports;
  /** The result of every notification sent, in the order of completion. */
  readonly deliveries: readonly Delivery[];
  /** The emulator's clock: real time plus an offset. */
  readonly clock: VirtualClock;
  /**
   * Makes an operation or the deliveries fail; returns a function that ends the fault.
   *
   * @throws TypeError that names the wrong option.
   * @example
   * const end = emulator.fault("authorize", { status: 503 });
   */
  fault(target: FaultTarget, options: FaultOptions): () => void;
  /**
   * Delivers notifications to an app from now on, through a socket: with the path, query and `Host` of their `webhook_url`, and
   * `x-forwarded-proto: https`. The last call wins, also over the option `deliver`. An app that throws has answered 500.
   *
   * @throws TypeError if it is neither an Express app or another `(req, res)` listener, nor a Koa or Hono app.
   * @example
   * emulator.deliverTo(express().post("/webhooks/reports", reporthook(receiver)));
   */
  deliverTo(app: AppUnderTest): void;
  /**
   * Resolves once no delivery is under way. Rejects if a notification reached nobody and no fault asked for that, or if the app
   * of `deliverTo` answered 500: it names the address. Each is told once.
   */
  settled(): Promise<void>;
  /** Deletes reports, deliveries, faults and the clock's offset; drops running operations. */
  reset(): void;
  /** Stops the server, drops running operations, and breaks off later ones. Idempotent. */
  close(): Promise<void>;
}

/**
 * Creates the service of the document, for tests and local work. It uses the network only to deliver
 * notifications and for `listen()`.
 *
 * @throws TypeError that names the wrong option.
 * @example
 * const emulator = createEmulator();
 * const client = createClient(emulator.clientOptions);
 */
export function createEmulator(options: EmulatorOptions = {}): Emulator {
  const { apiKey, deliver } = checked(options);
  const isKey = (given: string | null): boolean => given !== null && sameText(given, apiKey);

  const { clock, rewind } = createClock();
  const signer = createSigner(apiKey, clock.now);
  const faults = createFaults();
  const authorizing = new Authorizing(isKey, signer);
  const notification = createCompose(signer, (url) => store.idAt(url));
  const transport = new Transport(deliver);
  const outbox = createSender(clock, faults, transport);

  let closing: Promise<void> | undefined;

  function send(url: string, name: NotificationName, reportId: string | null): Promise<Delivery> {
    const signed = notification(name, { reportId: reportId ?? undefined });
    return outbox.send({ url, name, reportId, notification: signed });
  }

  const store = createReportStore(clock.now, async ({ id, status, webhookUrl }) =>
    webhookUrl === null || closing !== undefined ? null : send(webhookUrl, `report.${status}`, id),
  );

  const operations = [
    authorizing.operation,
    testingWebhooks(isKey, (url) => send(url, "test_webhook_endpoint", null)),
    requestingReports(isKey, store),
    authorizing.asked,
  ];
  const service = createService(operations, clock, faults);
  const server = new EmulatorServer(service.answer);
  const fetch = createFetch(service.answer);

  async function shutDown(): Promise<void> {
    service.close();
    outbox.abort("The emulator was closed.");
    await server.close();
  }

  const emulator: Omit<Emulator, "clientOptions"> = {
    fetch,
    listen: async (port = 0, host = "127.0.0.1") => ({ url: await server.listen(port, host) }),
    notification,
    reports: store.reports,
    deliveries: outbox.deliveries,
    clock,
    fault: faults.set,
    deliverTo: (app) => transport.deliverTo(app),
    settled: outbox.settled,
    reset() {
      service.dropAll();
      outbox.abort("The emulator was reset.");
      outbox.clear();
      store.clear();
      faults.clear();
      authorizing.clear();
      rewind();
    },
    close: () => (closing ??= shutDown()),
  };
  // Not enumerable: util.inspect and JSON.stringify of the emulator do not show the key.
  return Object.defineProperty(emulator, "clientOptions", {
    value: { baseUrl: "https://emulator.invalid", apiKey, fetch },
  }) as Emulator;
}

// The service's document, section 1: "written without surrounding brackets".
const WRAPPED = /^(\[.*\]|\{.*\}|<.*>)$/;

function checked(options: EmulatorOptions): { apiKey: string; deliver: Deliver | undefined } {
  checkOptions("createEmulator", options, ["apiKey", "deliver"]);
  const { apiKey = "test-api-key", deliver } = options;
  if (typeof apiKey !== "string" || !/^\S+$/.test(apiKey) || WRAPPED.test(apiKey)) {
    throw new TypeError("apiKey must be a non-empty string without white space and brackets");
  }
  if (deliver !== undefined && typeof deliver !== "function") {
    throw new TypeError(`deliver must be a function, not ${typeof deliver}`);
  }
  return { apiKey, deliver };
}
