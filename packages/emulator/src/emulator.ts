import { createFetch } from "./http/in-process.ts";
import { type Listening, listen } from "./http/listen.ts";
import { createService, type Operation } from "./http/service.ts";
import { createClock, type VirtualClock } from "./lib/clock.ts";
import { createFaults, type FaultOptions, type FaultTarget } from "./lib/faults.ts";
import { sameText } from "./lib/same-text.ts";
import {
  createCompose,
  type Notification,
  type NotificationName,
  type NotificationOptions,
} from "./notifications/notification.ts";
import { createReportStore, type Reports } from "./notifications/reports.ts";
import { createOutbox, type Deliver, type Delivery } from "./notifications/sender.ts";
import { createSigner } from "./notifications/signature.ts";
import { authorize, createAsked } from "./operations/authorize.ts";
import { requestReport } from "./operations/request-report.ts";
import { testWebhook } from "./operations/test-webhook.ts";

/** How an emulator is made. */
export interface EmulatorOptions {
  /** The one key the emulator accepts; `"test-api-key"` when left out. */
  readonly apiKey?: string | undefined;
  /** Carries notifications instead of the network, for example `(request) => app.fetch(request)`. */
  readonly deliver?: Deliver | undefined;
}

/** The service of the document, in this process. */
export interface Emulator {
  /** The three operations, called like the global `fetch`; the host of the URL does not matter. */
  readonly fetch: typeof globalThis.fetch;
  /** For `createClient(emulator.clientOptions)`: a client that needs no network. */
  readonly clientOptions: {
    readonly baseUrl: string;
    readonly apiKey: string;
    readonly fetch: typeof globalThis.fetch;
  };
  /**
   * Serves the same over HTTP, once, until `close()`; port 0, the default, takes a free one and
   * `host` is `127.0.0.1`. Rejects with a TypeError for what is no port, and with the system's error when it cannot be had.
   */
  listen(port?: number, host?: string): Promise<{ readonly url: string }>;
  /**
   * Makes a signed notification and does not send it (the service's document, section Webhook
   * notification). Each call gives another signature.
   *
   * @throws TypeError when the name or an option is not one of those listed.
   * @example
   * const { headers, body } = emulator.notification("report.complete", { reportId: "r-1" });
   */
  notification(name: NotificationName, options?: NotificationOptions): Notification;
  /** The reports that were requested, and how to change their status. */
  readonly reports: Reports;
  /** What came of every notification sent, in the order it became known. */
  readonly deliveries: readonly Delivery[];
  /** The emulator's time: real time plus what was advanced. */
  readonly clock: VirtualClock;
  /**
   * Lets an operation or the deliveries go wrong; returns a function that ends this fault.
   *
   * @throws TypeError that names the option which is wrong.
   * @example
   * const end = emulator.fault("authorize", { status: 503 });
   */
  fault(target: FaultTarget, options: FaultOptions): () => void;
  /** Resolves once no delivery is under way. */
  settled(): Promise<void>;
  /** Back to the start: no reports, deliveries or faults, real time; what is under way is dropped. */
  reset(): void;
  /** Stops the server, drops what is under way and answers no more; may be called again. */
  close(): Promise<void>;
}

/**
 * Makes the service of the document, for tests and local work. Nothing touches the network until
 * a notification is delivered or `listen()` is called.
 *
 * @throws TypeError that names the option which is wrong.
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
  const asked = createAsked();
  const notification = createCompose(signer);
  const outbox = createOutbox({ clock, faults, deliver });

  let server: Promise<Listening> | undefined;
  let closing: Promise<void> | undefined;

  function send(url: string, name: NotificationName, reportId: string | null): Promise<Delivery> {
    const signed = notification(name, { reportId: reportId ?? undefined });
    return outbox.send({ url, name, reportId, notification: signed });
  }

  const store = createReportStore(clock.now, async ({ id, status, webhookUrl }) =>
    webhookUrl === null || closing !== undefined ? null : send(webhookUrl, `report.${status}`, id),
  );

  const operations: readonly Operation[] = [
    {
      path: "/v1/webhooks/authorize",
      target: "authorize",
      run: (call) => asked.note(call, () => authorize(call, isKey, signer)),
    },
    {
      path: "/v3/batch/webhooks/test",
      target: "test",
      run: (call) => testWebhook(call, isKey, (url) => send(url, "test_webhook_endpoint", null)),
    },
    {
      path: "/batch/v4/request-report",
      target: "request-report",
      run: (call) => requestReport(call, isKey, store),
    },
    { path: "/emulator/asked", run: asked.answer },
  ];
  const service = createService(operations, clock, faults);
  const fetch = createFetch(service.answer);

  async function serve(port: number, host: string): Promise<Listening> {
    if (closing !== undefined)
      throw new Error("The emulator is closed: make another to listen again.");
    if (server !== undefined)
      throw new Error("The emulator already listens: close() it and make another.");
    server = listen(service.answer, port, host);
    server.catch(() => {
      server = undefined;
    });
    return server;
  }

  async function shutDown(): Promise<void> {
    service.close();
    outbox.abort("The emulator was closed.");
    // A server that never came up has nothing to close; listen() told why.
    const listening = await server?.catch(() => undefined);
    await listening?.close();
  }

  const emulator: Omit<Emulator, "clientOptions"> = {
    fetch,
    listen: async (port = 0, host = "127.0.0.1") => ({ url: (await serve(port, host)).url }),
    notification,
    reports: store.reports,
    deliveries: outbox.deliveries,
    clock,
    fault: faults.set,
    settled: outbox.settled,
    reset() {
      service.dropAll();
      outbox.abort("The emulator was reset.");
      outbox.clear();
      store.clear();
      faults.clear();
      asked.clear();
      rewind();
    },
    close: () => (closing ??= shutDown()),
  };
  // Not enumerable: the key shows neither in util.inspect nor in JSON.stringify of the emulator.
  return Object.defineProperty(emulator, "clientOptions", {
    value: { baseUrl: "https://emulator.invalid", apiKey, fetch },
  }) as Emulator;
}

// The service's document, section 1: "written without surrounding brackets".
const WRAPPED = /^(\[.*\]|\{.*\}|<.*>)$/;

function checked({ apiKey = "test-api-key", deliver, ...unknown }: EmulatorOptions): {
  apiKey: string;
  deliver: Deliver | undefined;
} {
  for (const name of Object.keys(unknown)) {
    throw new TypeError(`createEmulator has no option ${name}; these are: apiKey, deliver`);
  }
  if (typeof apiKey !== "string" || !/^\S+$/.test(apiKey) || WRAPPED.test(apiKey)) {
    throw new TypeError("apiKey must be a string, not empty, without white space or brackets");
  }
  if (deliver !== undefined && typeof deliver !== "function") {
    throw new TypeError(`deliver must be a function, not ${typeof deliver}`);
  }
  return { apiKey, deliver };
}
