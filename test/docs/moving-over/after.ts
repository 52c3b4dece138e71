import { createServer, type Server } from "node:http";
import { createClient, createReceiver, type Inbox } from "@reporthook/core";
import { shutdown } from "@reporthook/core/node";
import { reporthook } from "@reporthook/express";
import express from "express";

interface Options {
  readonly serviceUrl: string;
  readonly apiKey: string;
  readonly inbox: Inbox;
  readonly publish: (reportId: string) => Promise<void>;
}

export function startShop({ serviceUrl, apiKey, inbox, publish }: Options): Server {
  // As before, forged and unsigned ones get 401. If the service gives no verdict, the receiver stores them and asks again.
  const receiver = createReceiver({
    client: createClient({ baseUrl: serviceUrl, apiKey }),
    inbox,
    verify: "before-ack",
    unsigned: "refuse",
  });
  // Runs after the answer, again if it throws, and once for a notification that is sent twice.
  receiver.on("report.complete", async (event) => {
    if (event.reportId !== null) await publish(event.reportId);
  });

  const app = express();
  // Ahead of the parser, so that every answer is the receiver's.
  app.post("/webhooks/reports", reporthook(receiver));
  app.use(express.json());

  app.post("/orders", (req, res) => void res.status(201).json(req.body));
  const server = createServer(app);
  process.once("SIGTERM", () => shutdown(server, receiver));
  return server;
}
