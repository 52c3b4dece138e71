import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import { nodeHandler } from "@reporthook/core/node";
import { reporthook as toExpress } from "@reporthook/express";
import { reporthook as toHono } from "@reporthook/hono";
import { reporthook as toKoa } from "@reporthook/koa";
import type { MountedReceiver } from "@reporthook/testing";
import express from "express";
import { Hono } from "hono";
import Koa from "koa";

/** A receiver mounted in every way. */
export const mounts: Readonly<Record<string, (receiver: MountedReceiver) => Server>> = {
  "node:http": (receiver) => createServer(nodeHandler(receiver)),
  Express: (receiver) => createServer(express().post("/hook", toExpress(receiver))),
  Koa: (receiver) => createServer(new Koa().use(toKoa(receiver)).callback()),
  Hono: (receiver) =>
    createAdaptorServer({
      fetch: new Hono().post("/hook", toHono(receiver)).fetch,
    }) as Server,
};

/** Posts as a stranger does: with no trace, for what another sends is in another's spans. Resolves to all of the answer. */
export async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<unknown[]> {
  const sending = request(url, { method: "POST", headers }).end(body);
  const [answer] = (await once(sending, "response")) as [IncomingMessage];
  const bytes = Buffer.concat(await answer.toArray());
  return [answer.statusCode, answer.rawHeaders, bytes.toString()];
}
