import { createServer, type Server } from "node:http";
import type { Receiver } from "@reporthook/core";
import { shutdown } from "@reporthook/core/node";
import { reporthook } from "@reporthook/express";
import express from "express";

export function startShop(receiver: Receiver): Server {
  const app = express();
  app.post("/webhooks/reports", reporthook(receiver));
  app.use(express.json());
  app.post("/orders", (req, res) => void res.status(201).json(req.body));
  const server = createServer(app);
  process.once("SIGTERM", () => shutdown(server, receiver));
  return server;
}
