import { createServer, type Server } from "node:http";
import express from "express";
import { type Options, receiveByHand } from "../by-hand.ts";

export function startShop(options: Options): Server {
  const app = express();
  app.use(express.json());
  app.post("/webhooks/reports", async (req, res) => {
    const status = await receiveByHand(options, req.get("X-svc-authorization"), req.body);
    res.status(status).json({});
  });
  app.post("/orders", (req, res) => void res.status(201).json(req.body));
  return createServer(app);
}
