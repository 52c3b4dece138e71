import { createEmulator } from "@reporthook/emulator";
import express from "express";
import express4 from "express4";
import Koa from "koa";
import Koa2 from "koa2";
import request from "supertest";
import { it } from "vitest";
import { createClient } from "./client.ts";

const emulator = createEmulator();
const client = createClient({ ...emulator.clientOptions, apiKey: "wrong" });

/** The route of an app: it asks for a report, and leaves errors to the framework. */
const ask = (body: object) => client.requestReport(body as { start_date?: string });

function expressApp(of: typeof express): express.Express {
  const app = of();
  app.set("env", "test");
  app.post("/:start", (req, res, next) => {
    ask({ start_date: req.params["start"] }).then((answer) => res.json(answer), next);
  });
  return app;
}

function koaApp(Of: typeof Koa): ReturnType<Koa["callback"]> {
  const app = new Of();
  app.silent = true;
  app.use(async ({ path }) => void (await ask({ start_date: path.slice(1) })));
  return app.callback();
}

it.each([
  ["Express 5", expressApp(express)],
  ["Express 4", expressApp(express4 as unknown as typeof express)],
  ["Koa 3", koaApp(Koa)],
  ["Koa 2", koaApp(Koa2 as unknown as typeof Koa)],
])(
  "an app of %s answers a customer 500 for a refused key, and 400 for a wrong report",
  async (_, app) => {
    await request(app).post("/2026-01").expect(500);
    await request(app).post("/January").expect(400);
  },
);
