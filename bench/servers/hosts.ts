import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Receiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { reporthook as onExpress } from "@reporthook/express";
import { reporthook as onHono } from "@reporthook/hono";
import { reporthook as onKoa } from "@reporthook/koa";
import express from "express";
import { Hono } from "hono";
import Koa from "koa";
import bodyParser from "koa-bodyparser";

/** The frameworks that are measured. */
export type HostName = "express" | "koa" | "hono" | "node:http";

const path = "/webhooks/reports";
// As long as our own answer.
const answer = { status: "accepted", id: "01hf0000000000000000000000" };

/**
 * A server that answers POST with a receiver; with several, each at the path that ends with its number. Without a receiver
 * it answers 200 once the body is read and parsed, as users of the framework do it. `around` wraps the listener.
 */
export function serverOf(
  host: HostName,
  receivers: readonly Receiver[],
  around: (listener: Listener) => Listener = (listener) => listener,
): Server {
  return createServer(around(listenerOf(host, receivers)));
}

/** The function that `node:http` calls for a request. */
export type Listener = (req: IncomingMessage, res: ServerResponse) => unknown;

function listenerOf(host: HostName, [receiver, ...others]: readonly Receiver[]): Listener {
  if (receiver === undefined) return bare[host]();
  if (others.length === 0) return hosts[host](receiver);
  const all = [receiver, ...others].map((one) => hosts[host](one));
  return (req, res) => all[Number(req.url?.slice(-3))]?.(req, res);
}

const hosts: Record<HostName, (receiver: Receiver) => Listener> = {
  express: (receiver) => express().post(path, onExpress(receiver)),
  koa: (receiver) => new Koa().use(onKoa(receiver)).callback(),
  hono: (receiver) => getRequestListener(new Hono().post(path, onHono(receiver)).fetch),
  "node:http": nodeHandler,
};

const bare: Record<HostName, () => Listener> = {
  express: () =>
    express()
      .use(express.json())
      .post(path, (_req, res) => {
        res.json(answer);
      }),
  koa: () => {
    const app = new Koa().use(bodyParser());
    app.use((ctx) => {
      ctx.body = answer;
    });
    return app.callback();
  },
  hono: () => {
    const app = new Hono().post(path, async (c) => {
      await c.req.json();
      return c.json(answer);
    });
    return getRequestListener(app.fetch);
  },
  "node:http": () => (req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      JSON.parse(Buffer.concat(chunks).toString());
      const body = JSON.stringify(answer);
      res.writeHead(200, {
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(body),
      });
      res.end(body);
    });
  },
};
