import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Client, createClient, type EntryDetails, type Receiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { isLoopback } from "@reporthook/core/store";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { unsignedUrl, withQuery } from "../lib/callback.ts";
import { webhookPath } from "../lib/environment.ts";
import { CommandFailed } from "../lib/errors.ts";
import type { Exchange } from "../lib/exchange.ts";
import { startListening } from "../lib/listen.ts";
import { AppInbox } from "./app-inbox.ts";
import { sendToApp } from "./app-sender.ts";
import {
  type AppRequest,
  History,
  type SentNotification,
  signatureHeader,
  type Tell,
} from "./history.ts";
import { claimFile, createOwnReceiver, pageOf } from "./own-receiver.ts";
import { type Handle, passedOn, passTo, refusalOfPage, respond, serve } from "./serve.ts";

/** The settings of a playground. */
export interface PlaygroundOptions {
  readonly port: number;
  readonly host: string;
  readonly apiKey: string;
  /** The target of notifications: an app, or the playground's receiver with an inbox in a file. */
  readonly to: { readonly forward: string } | { readonly db: string };
  /** The query that signs a callback URL; empty without a secret. */
  readonly token: string;
  /** The name of the playground's receiver. */
  readonly receiver: string;
  readonly tell: Tell;
}

const dashboardPath = "/dashboard/";

/** Time from the request until a report is complete, in milliseconds. */
export const completeMs = 2_000;

/** The answers of the service to a question about a signature. */
const verdicts: Readonly<Record<number, string>> = {
  200: "valid (200)",
  401: "API key refused (401)",
  406: "invalid (406)",
  424: "expired (424)",
};

/** The emulated service and a webhook on one port. */
export class Playground {
  url = "";
  webhook = "";
  /** The dashboard's URL on this machine; null if `host` has another name here. */
  dashboard: string | null = null;
  broken = false;
  readonly history: History;
  readonly options: PlaygroundOptions;

  readonly #emulator: Emulator;
  readonly #client: Client;
  /** The playground's receiver; null if an app gets the notifications. */
  readonly #receiver: Receiver | null;
  readonly #appInbox: AppInbox;
  readonly #webhook: Handle;
  readonly #dashboard: Handle;
  readonly #service = serve((request) => this.#answer(request));
  readonly #server = createServer((req, res) => this.#serve(req, res));
  readonly #send = (request: AppRequest): Promise<Exchange> => sendToApp(request, this.history);
  readonly #completing = new Map<string, NodeJS.Timeout>();

  constructor(options: PlaygroundOptions) {
    const { apiKey, to, token, tell } = options;
    this.options = options;
    this.history = new History(tell);
    this.#emulator = createEmulator({ apiKey, deliver: (request) => this.#deliver(request) });
    this.#client = createClient(this.#emulator.clientOptions);
    this.#appInbox = new AppInbox(this.history);
    if ("db" in to) {
      const receiver = createOwnReceiver(this.#client, to.db, options.receiver, this.history);
      receiver.on("*", () => {
        if (this.broken) throw new Error("the handler is broken");
      });
      this.#receiver = receiver;
      this.#webhook = nodeHandler(receiver);
      this.#dashboard = pageOf(receiver, this.history);
    } else {
      this.#receiver = null;
      this.#webhook = passTo(to.forward, token, this.#send);
      this.#dashboard = this.#appInbox.serve;
    }
  }

  /** Whether notifications go to an app, and not to the playground's own receiver. */
  get forwards(): boolean {
    return this.#receiver === null;
  }

  /**
   * Opens the inbox, and listens.
   *
   * @throws CommandFailed if the port is unavailable, or the file is an app's; ReporthookError `inbox_failed` if the inbox can't be opened
   */
  async listen(): Promise<void> {
    const { port, host, to, receiver } = this.options;
    if ("db" in to) await claimFile(to.db, receiver);
    await this.#receiver?.start();
    this.url = await startListening(this.#server, port, host);
    this.webhook = this.url + webhookPath;
    this.dashboard = isLoopback(new URL(this.url).hostname) ? this.url + dashboardPath : null;
  }

  async test(): Promise<void> {
    await this.#client.testWebhook(this.#signedWebhook);
  }

  async request(): Promise<void> {
    const webhook_url = this.#signedWebhook;
    await this.#client.requestReport({ webhook_url, domains: ["example.com"] });
    this.#completeReports();
  }

  /**
   * Sends a notification again: the same body with a new signature, or as it was if its signature was missing or invalid.
   *
   * @throws CommandFailed `no_body` if its body is no longer kept
   */
  async sendAgain({ request, id }: SentNotification): Promise<void> {
    if (request !== null) {
      const headers: Record<string, string> = { ...request.headers };
      const signature = headers[signatureHeader] ?? "";
      if (signature !== "" && (await this.#client.authorize(signature)) !== "invalid") {
        const made = new Headers(this.#emulator.notification("unknown").headers);
        headers[signatureHeader] = made.get(signatureHeader) ?? "";
      }
      return void (await this.#send({ ...request, headers }));
    }
    const details = await this.#receiver?.inbox.get(id ?? "");
    if (details === undefined || details === null || details.body === null) {
      throw new CommandFailed("no_body", `The body of ${id} is no longer kept: choose another`);
    }
    const signature = details.verification === "unsigned" ? "none" : "valid";
    const made = this.#emulator.notification("unknown", { signature, body: details.body });
    const headers = { ...made.headers, ...details.headers };
    const { ok, status } = await fetch(this.#signedWebhook, { ...made, headers });
    if (!ok) throw new CommandFailed("not_delivered", `${this.webhook} answered ${status}`);
  }

  /** The delivery of a notification in the inbox; null if there is no such delivery, or no inbox here. */
  async find({ id }: SentNotification): Promise<EntryDetails | null> {
    if (id === null) return null;
    if (this.#receiver !== null) return this.#receiver.inbox.get(id);
    return (await (await this.#appInbox.find())?.get(id)) ?? null;
  }

  async close(): Promise<void> {
    for (const timer of this.#completing.values()) clearTimeout(timer);
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#emulator.close();
    await this.#receiver?.close({ timeoutMs: Infinity }); // A slow disk is no failure.
    await this.#appInbox.close();
  }

  /** The address that the playground itself gives to its service; requests to an app are signed when they are passed on. */
  get #signedWebhook(): string {
    return this.forwards ? this.webhook : withQuery(this.webhook, this.options.token);
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const [path] = (req.url ?? "/").split("?");
    if (`${path}/`.startsWith(dashboardPath)) return this.#dashboard(req, res);
    if (path === "/" && req.method === "GET" && req.headers.accept?.includes("text/html")) {
      return void res.writeHead(302, { location: dashboardPath }).end();
    }
    const refusal = refusalOfPage(req, this.options.host);
    if (refusal !== null) return respond(res, refusal);
    if (path === webhookPath) return this.#webhook(req, res);
    await this.#service(req, res);
    this.#completeReports();
  }

  /** Delivers what the service sends; the webhook reports its own deliveries. */
  async #deliver(request: Request): Promise<Response> {
    if (unsignedUrl(request.url) === this.webhook) return fetch(request);
    const { url, method } = request;
    const headers = Object.fromEntries(request.headers);
    const answer = await this.#send({ url, method, headers, body: await request.text() });
    if (answer.error !== "") throw new Error(answer.error);
    return passedOn(answer);
  }

  async #answer(request: AppRequest): Promise<Response> {
    const answer = await this.#emulator.fetch(request.url, request);
    const { pathname: path } = new URL(request.url);
    const isQuestion = path.endsWith("/webhooks/authorize");
    const signature = (isQuestion && request.headers[signatureHeader]) || null;
    const sent = this.history.all.findLast(
      (one) => one.request?.headers[signatureHeader] === signature,
    );
    const verdict = verdicts[answer.status];
    const what = answer.status === 401 ? "refused" : "asked";
    const about = sent && { name: sent.name, id: sent.id };
    if (sent && verdict !== undefined) sent.verdict = verdict;
    if (what === "refused") this.history.tell({ what, path, ...about }, sent);
    else if (about && verdict !== undefined) this.history.tell({ what, ...about, verdict }, sent);
    return answer;
  }

  #completeReports(): void {
    for (const { id } of this.#emulator.reports.list()) {
      if (this.#completing.has(id)) continue;
      const complete = (): void => void this.#emulator.reports.setStatus(id, "complete");
      this.#completing.set(id, setTimeout(complete, completeMs).unref());
    }
  }
}
