import { createServer, type Server } from "node:http";
import express from "express";

interface Options {
  readonly serviceUrl: string;
  readonly apiKey: string;
  readonly publish: (reportId: string) => Promise<void>;
}

export function startShop({ serviceUrl, apiKey, publish }: Options): Server {
  const app = express();
  app.use(express.json());

  app.post("/webhooks/reports", async (req, res) => {
    const signature = req.get("X-svc-authorization");
    if (signature === undefined) {
      res.status(401).json({ error: "no signature" });
      return;
    }
    const url = `${serviceUrl}/v1/webhooks/authorize?api_key=${apiKey}`;
    const verdict = await fetch(url, {
      method: "POST",
      headers: { "X-svc-authorization": signature },
    });
    if (verdict.status !== 200) {
      res.status(401).json({ error: "bad signature" });
      return;
    }
    const { status, report_id: reportId } = req.body.payload;
    if (status === "complete") await publish(reportId);
    res.json({ ok: true });
  });

  app.post("/orders", (req, res) => void res.status(201).json(req.body));
  return createServer(app);
}
