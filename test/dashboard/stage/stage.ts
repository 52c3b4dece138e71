import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import Router from "@koa/router";
import {
  createClient,
  createReceiver,
  type Inbox,
  type Receiver,
  type ReceiverOptions,
} from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { type Dashboard, type DashboardOptions, dashboard } from "@reporthook/dashboard";
import { onKoa, onNode } from "@reporthook/dashboard/node";
import { createEmulator, type Emulator, type NotificationName } from "@reporthook/emulator";
import { reporthook as onExpress } from "@reporthook/express";
import { reporthook as onHono } from "@reporthook/hono";
import { reporthook as withKoa } from "@reporthook/koa";
import { sqliteInbox } from "@reporthook/sqlite";
import { freePort } from "@reporthook/test-support/free-port";
import { patient } from "@reporthook/test-support/patient";
import compression from "compression";
import express from "express";
import helmet from "helmet";
import { Hono } from "hono";
import Koa from "koa";
import mount from "koa-mount";
import { express4, Koa2 } from "../../adapters/hosts/frameworks.ts";

/** An app with the webhook and the dashboard beside it. */
export type Framework = (receiver: Receiver, page: Dashboard) => RequestListener;

type Frameworks = "express" | "express 4, behind the usual" | "koa" | "koa 2" | "hono" | "node";

/** The same app in each framework. */
export const frameworks: Readonly<Record<Frameworks, Framework>> = {
  express(receiver, page) {
    const app = express();
    app.post("/webhooks/reports", onExpress(receiver));
    app.use("/inbox", onNode(page));
    return app;
  },
  "express 4, behind the usual"(receiver, page) {
    const app = express4();
    app.use(helmet(), compression({ threshold: 0 }), express4.json());
    app.post("/webhooks/reports", onExpress(receiver));
    app.use("/inbox", onNode(page));
    return app;
  },
  koa: (receiver, page) => koaApp(new Koa(), receiver, page),
  "koa 2": (receiver, page) => koaApp(new Koa2(), receiver, page),
  hono(receiver, page) {
    const app = new Hono();
    app.post("/webhooks/reports", onHono(receiver));
    app.all("/inbox/*", (c) => page(c.req.raw, c.env));
    const listener = getRequestListener((request, env) => app.fetch(request, env));
    return (req, res) => void listener(req, res);
  },
  node(receiver, page) {
    const [webhook, inbox] = [nodeHandler(receiver), onNode(page)];
    return (req, res) => void (req.url?.startsWith("/inbox") ? inbox(req, res) : webhook(req, res));
  },
};

function koaApp(app: Koa, receiver: Receiver, page: Dashboard): RequestListener {
  const router = new Router();
  router.post("/webhooks/reports", withKoa(receiver));
  app.use(router.routes());
  app.use(mount("/inbox", onKoa(page)));
  return app.callback();
}

/** The fields that were logged of an action. */
export type Logged = Readonly<Record<string, unknown>>;

/** An app that runs, with the service that it asks. */
export interface Stage {
  readonly emulator: Emulator;
  readonly receiver: Receiver;
  readonly inbox: Inbox;
  readonly logged: Logged[];
  /** Of the dashboard, with the slash at its end. */
  readonly url: string;
  /** Has the service send one; resolves to the delivery's id. */
  send(name: NotificationName, options?: SendOptions): Promise<string>;
  /** Has the handlers of the option `fails` succeed from now on. */
  fix(): void;
  /** Ends the app's process, as far as the page can tell, and starts it again on the same file and port, or with other handlers. */
  restart(handlers?: StageOptions["handlers"]): Promise<void>;
  /** Ends as an app does: its server first, which lets those finish that it answers. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** The content of a notification. */
export type SendOptions = Parameters<Emulator["notification"]>[1];

/** How the app is made. */
export interface StageOptions extends DashboardOptions {
  readonly framework?: Framework;
  /** Registers handlers; called for each start. */
  readonly handlers?: (receiver: Receiver) => void;
  /** The error that handlers of reports throw until `fix()` is called. */
  readonly fails?: Error;
  readonly receiver?: Partial<ReceiverOptions>;
  readonly port?: number;
}

/** Starts the app. */
export async function startStage(options: StageOptions = {}): Promise<Stage> {
  const {
    framework = frameworks.express,
    handlers = () => {},
    receiver: given,
    port = await freePort(),
  } = options;
  const folder = mkdtempSync(join(tmpdir(), "reporthook-dashboard-"));
  const emulator = createEmulator({ apiKey: "key-that-nobody-may-see" });
  const logged: Logged[] = [];
  const logger = options.logger ?? {
    info: (fields: Logged, message: string) => void logged.push({ ...fields, message }),
    error: (fields: Logged, message: string) => void logged.push({ ...fields, message }),
  };
  let receiver: Receiver;
  let inbox: Inbox;
  let server: Server | undefined;
  let { fails } = options;

  async function start(register = handlers): Promise<void> {
    inbox = sqliteInbox(join(folder, "inbox.db"));
    receiver = createReceiver({
      client: createClient(emulator.clientOptions),
      inbox,
      logger: false,
      callback: {
        secrets: ["a secret that is long enough for a token"],
        url: `http://127.0.0.1:${port}/webhooks/reports`,
      },
      ...patient,
      ...given,
    });
    register(receiver);
    if (fails !== undefined) {
      receiver.on("report", () => {
        if (fails !== undefined) throw fails;
      });
    }
    const { authorize } = options;
    const page = dashboard(receiver, { logger, ...(authorize !== undefined && { authorize }) });
    // On a busy machine a connection must not end while it is chosen for the next request.
    const settings = { keepAliveTimeout: 60_000 };
    server = createServer(settings, framework(receiver, page)).listen(port, "127.0.0.1");
    await once(server, "listening");
  }

  async function stop(): Promise<void> {
    server?.close();
    server?.closeAllConnections();
    await receiver.close({ timeoutMs: 30_000 });
  }

  await start();
  const origin = `http://127.0.0.1:${port}`;
  return {
    emulator,
    logged,
    get receiver() {
      return receiver;
    },
    get inbox() {
      return inbox;
    },
    url: `${origin}/inbox/`,
    async send(name, how) {
      const notification = emulator.notification(name, how);
      const response = await fetch(`${origin}/webhooks/reports`, notification);
      if (!response.ok) throw new Error(await response.text());
      return ((await response.json()) as { id: string }).id;
    },
    fix() {
      fails = undefined;
    },
    async restart(others) {
      await stop();
      await start(others);
    },
    async finish() {
      const ended = once(server as Server, "close");
      server?.close();
      await receiver.close({ timeoutMs: 30_000 });
      await ended;
    },
    async close() {
      await stop();
      await emulator.close();
      rmSync(folder, { recursive: true });
    },
  };
}
