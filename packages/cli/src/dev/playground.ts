import { createServer } from "node:http";
import {
  type Client,
  createClient,
  createReceiver,
  type Entry,
  type Logger,
  type Receiver,
} from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { type DashboardLogger, dashboard } from "@reporthook/dashboard";
import { onNode } from "@reporthook/dashboard/node";
import { createEmulator, type Delivery } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { dashboardPath, webhookPath } from "../lib/environment.ts";
import { isLoopback, startListening } from "../lib/listen.ts";
import { type Ask, createAsks } from "./asks.ts";
import {
  type ForwardedNotification,
  forwardTo,
  type Handle,
  idIn,
  nameIn,
  serveFetch,
  signatureHeader,
} from "./serve.ts";

/** An event in the playground. */
export type PlaygroundEvent =
  /** A step of a notification in the playground's receiver. */
  | {
      readonly what: "received" | "verified" | "rejected" | "handled" | "failed" | "parked";
      readonly entry: Entry;
    }
  /** A notification was sent to an app. */
  | { readonly what: "sent"; readonly sent: ForwardedNotification }
  /** A program called the service with another API key. */
  | { readonly what: "refused"; readonly path: string }
  /** An app asked the service about a notification, or did not in time. */
  | Ask
  | { readonly what: "warning"; readonly message: string };

/** Options of {@link startPlayground}. */
export interface PlaygroundOptions {
  readonly port: number;
  readonly host: string;
  readonly apiKey: string;
  /** The target of notifications: an app, or the playground's receiver with an inbox in a file. */
  readonly to: { readonly forward: string } | { readonly db: string };
  readonly tell: (happening: PlaygroundEvent) => void;
}

/** The emulated service and a webhook on one port. */
export interface Playground {
  readonly url: string;
  readonly webhook: string;
  /** The dashboard's URL on this machine; null without an inbox, or if `host` has another name here. */
  readonly dashboard: string | null;
  /** Whether the playground's handler fails. */
  broken: boolean;
  /** Makes the service send a test notification. */
  test(): Promise<void>;
  /** Requests a report. */
  request(): Promise<void>;
  close(): Promise<void>;
}

/** Attempts of the playground's handler. */
export const attempts = 3;
/** Time from the request until a report is complete, in milliseconds. */
export const completeMs = 2_000;

/**
 * Starts a playground.
 *
 * @throws CommandFailed if the port is unavailable; ReporthookError `inbox_failed` if the inbox can't be opened
 */
export async function startPlayground(options: PlaygroundOptions): Promise<Playground> {
  const { to, tell } = options;
  const asks = createAsks(tell);
  const emulator = createEmulator({
    apiKey: options.apiKey,
    async deliver(request) {
      void emulator.settled().then(tellDeliveries);
      // The webhook watches its own deliveries.
      if (request.url === playground.webhook) return fetch(request);
      const signature = request.headers.get(signatureHeader);
      asks.sent(signature, nameIn(await request.clone().text()));
      const response = await fetch(request);
      asks.answered(signature, response.ok, idIn(await response.clone().text()));
      return response;
    },
  });
  const client = createClient(emulator.clientOptions);
  const receiver =
    "db" in to ? createOwnReceiver(client, to.db, tell, () => playground.broken) : null;
  const atWebhook: Handle =
    "forward" in to
      ? forwardTo(to.forward, asks, (sent) => tell({ what: "sent", sent }))
      : nodeHandler(receiver as Receiver);
  const atDashboard = receiver && onNode(dashboard(receiver, { logger: dashboardLogger(tell) }));
  const atService = serveFetch(async (url, init) => {
    const answer = await emulator.fetch(url, init);
    const { pathname } = new URL(String(url));
    if (pathname.endsWith("/webhooks/authorize")) {
      asks.asked(new Headers(init?.headers).get(signatureHeader), answer.status);
    }
    if (answer.status === 401) tell({ what: "refused", path: pathname });
    return answer;
  });
  const completing = new Map<string, NodeJS.Timeout>();
  let told = 0;

  function tellDeliveries(): void {
    for (; told < emulator.deliveries.length; told++) {
      const { url, name, status, durationMs, error } = emulator.deliveries[told] as Delivery;
      // The receiver reports notifications to the playground's webhook.
      if (url === playground.webhook) continue;
      const rest = error === undefined ? {} : { error };
      tell({ what: "sent", sent: { url, name, status, durationMs, ...rest } });
    }
  }

  function completeReports(): void {
    for (const { id } of emulator.reports.list()) {
      if (completing.has(id)) continue;
      const complete = (): void => void emulator.reports.setStatus(id, "complete");
      completing.set(id, setTimeout(complete, completeMs).unref());
    }
  }

  const server = createServer(async (req, res) => {
    const [path] = (req.url ?? "/").split("?");
    if (path === webhookPath) return atWebhook(req, res);
    if (atDashboard && `${path}/`.startsWith(dashboardPath)) return atDashboard(req, res);
    await atService(req, res);
    completeReports();
  });

  const playground: Playground = {
    url: "",
    webhook: "",
    dashboard: null,
    broken: false,
    test: async () => void (await client.testWebhook(playground.webhook)),
    async request() {
      await client.requestReport({ webhook_url: playground.webhook, domains: ["example.com"] });
      completeReports();
    },
    async close() {
      for (const timer of completing.values()) clearTimeout(timer);
      asks.close();
      server.close();
      server.closeAllConnections();
      await emulator.close();
      await receiver?.close({ timeoutMs: 2_000 });
    },
  };
  try {
    await receiver?.start();
    const url = await startListening(server, options.port, options.host);
    const isShown = receiver !== null && isLoopback(new URL(url).hostname);
    return Object.assign(playground, {
      url,
      webhook: url + webhookPath,
      dashboard: isShown ? url + dashboardPath : null,
    });
  } catch (error) {
    server.close();
    await receiver?.close();
    throw error;
  }
}

/** Creates the receiver. Its handler does nothing, or fails on demand; each step is reported. */
function createOwnReceiver(
  client: Client,
  db: string,
  tell: (happening: PlaygroundEvent) => void,
  isBroken: () => boolean,
): Receiver {
  const step = (what: "received" | "handled" | "failed" | "parked") => (entry: Entry) =>
    tell({ what, entry });
  const warn = warnTo(tell);
  const receiver = createReceiver({
    client,
    inbox: sqliteInbox(db),
    autostart: false,
    retry: { attempts, minMs: 1_000, maxMs: 10_000 },
    logger: {
      // Hooks report the steps of a delivery.
      warn: (fields, message) => "id" in fields || warn(fields, message),
      error: warn,
    },
    observe: {
      acknowledged: step("received"),
      verified: (entry) =>
        tell({ what: entry.state === "rejected" ? "rejected" : "verified", entry }),
      handled: step("handled"),
      failed: step("failed"),
      parked: step("parked"),
    },
  });
  return receiver.on("*", () => {
    if (isBroken()) throw new Error("the handler is broken");
  });
}

function dashboardLogger(tell: PlaygroundOptions["tell"]): DashboardLogger {
  // Hooks report the steps of a released delivery.
  return { info: () => {}, error: warnTo(tell) };
}

function warnTo(tell: PlaygroundOptions["tell"]): Logger["warn"] {
  return (fields, message) => {
    const { headers, error } = fields;
    const detail = Array.isArray(headers) ? `Headers: ${headers.join(", ")}.` : (error ?? "");
    tell({ what: "warning", message: `${message} ${detail}`.trim() });
  };
}
