import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Client,
  createReceiver,
  type Entry,
  type EventOf,
  type Receiver,
} from "@reporthook/core";
import { shutdown } from "@reporthook/core/node";
import { dashboard } from "@reporthook/dashboard";
import { onNode } from "@reporthook/dashboard/node";
import { reporthook } from "@reporthook/express";
import { sqliteInbox } from "@reporthook/sqlite";
import express from "express";

/** When a delivery took each step, in milliseconds of `performance.now()`. */
export interface Steps {
  readonly entry: Entry;
  readonly acknowledged?: number;
  readonly verified?: number;
  readonly handled?: number;
}

/** The context that the app attaches to each report that it asks for. */
export interface Context {
  readonly customer: string;
}

/** An event about a report. */
export type ReportEvent = EventOf<"report", Context>;

/** The app of the tour. */
export interface App {
  readonly url: string;
  /** The address of the dashboard, which shows each delivery and its outcome. */
  readonly dashboard: string;
  readonly receiver: Receiver<Context>;
  /** The last event about a report. */
  readonly event: ReportEvent | undefined;
  /** By delivery id, in order of receipt. */
  readonly deliveries: ReadonlyMap<string, Steps>;
  /** Called after each step of a delivery. */
  onStep: (steps: Steps) => void;
  close(): Promise<void>;
}

/** An Express app with one webhook, as a user would write it; it also notes when each step was taken. */
export async function startApp(client: Client, file: string, port: number): Promise<App> {
  const deliveries = new Map<string, Steps>();
  const note = (step: "acknowledged" | "verified" | "handled") => (entry: Entry) => {
    const steps = { ...deliveries.get(entry.id), entry, [step]: performance.now() };
    deliveries.set(entry.id, steps);
    app.onStep(steps);
  };
  const web = express();
  // Listens first: the address is known then, which any port may have.
  const server = createServer(web).listen(port, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `${origin}/webhooks/reports`;
  const receiver = createReceiver<Context>({
    client,
    inbox: sqliteInbox(file),
    callback: { secrets: [randomBytes(32).toString("base64")], url },
    logger: false,
    observe: {
      acknowledged: note("acknowledged"),
      verified: note("verified"),
      handled: note("handled"),
    },
  });
  receiver.on("test_webhook_endpoint", () => {});
  let event: ReportEvent | undefined;
  receiver.on("report", (given) => {
    event = given;
  });

  web.post("/webhooks/reports", reporthook(receiver));
  web.use("/inbox", onNode(dashboard(receiver)));
  const app: App = {
    url,
    dashboard: `${origin}/inbox/`,
    receiver,
    deliveries,
    get event() {
      return event;
    },
    onStep() {},
    async close() {
      server.closeAllConnections();
      await shutdown(server, receiver, { timeoutMs: 2_000 });
    },
  };
  return app;
}
