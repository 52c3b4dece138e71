import { createServer, type Server } from "node:http";
import { createAdaptorServer, getRequestListener } from "@hono/node-server";
import { bodyParser as koaBodyParser6 } from "@koa/bodyparser";
import { reporthook as toExpress } from "@reporthook/express";
import { reporthook as toHono } from "@reporthook/hono";
import { reporthook as toKoa } from "@reporthook/koa";
import type { MountedReceiver } from "@reporthook/testing";
import express5, { type RequestHandler } from "express";
import { Hono, type MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { validator } from "hono/validator";
import Koa3, { type Middleware } from "koa";
import koaBody from "koa-body";
import koaBodyParser4 from "koa-bodyparser";
import { toNodeHandler } from "srvx/node";
import { express4, Koa2 } from "./frameworks.ts";

/** Where the hosts of this file mount the receiver. */
export const path = "/webhooks/reports";

/** A body parser that runs ahead of the receiver. */
export type Parser =
  | "express.json()"
  | "express.json() that keeps rawBody"
  | "express.raw()"
  | "express.text()"
  | "express.urlencoded()"
  | "koa-bodyparser"
  | "@koa/bodyparser"
  | "koa-body"
  | "c.req.json()"
  | "a validator";

/** One framework with one parser ahead, or none. */
export interface ParserHost {
  readonly name: string;
  readonly parser: Parser | null;
  serve(receiver: MountedReceiver): Server;
}

const ofExpress = (express: typeof express5): [Parser, RequestHandler][] => [
  ["express.json()", express.json()],
  [
    "express.json() that keeps rawBody",
    express.json({ verify: (req, _res, rawBody) => void Object.assign(req, { rawBody }) }),
  ],
  ["express.raw()", express.raw({ type: "*/*" })],
  ["express.text()", express.text({ type: "*/*" })],
  ["express.urlencoded()", express.urlencoded({ extended: true })],
];
const ofKoa: [Parser, Middleware][] = [
  ["koa-bodyparser", koaBodyParser4()],
  ["@koa/bodyparser", koaBodyParser6()],
  ["koa-body", koaBody()],
];
const none = [null, null] as const;
const ofHono: [Parser, MiddlewareHandler][] = [
  ["c.req.json()", (c, next) => c.req.json().then(() => next())],
  ["a validator", validator("json", (value) => value)],
];

/** Every framework with each of its usual parsers, and with none. */
export const parserHosts: readonly ParserHost[] = [
  ...(
    [
      ["Express 5", express5],
      ["Express 4", express4],
    ] as const
  ).flatMap(([framework, express]) =>
    [...ofExpress(express), none].map(([parser, middleware]) =>
      hostOf(framework, parser, (receiver) => {
        const app = express();
        if (middleware !== null) app.use(middleware);
        app.post(path, toExpress(receiver));
        return createServer(app);
      }),
    ),
  ),
  ...[...ofExpress(express5), none].map(([parser, middleware]) =>
    hostOf("Hono in Express", parser, (receiver) => {
      const app = express5();
      if (middleware !== null) app.use(middleware);
      app.use(getRequestListener(new Hono().post(path, toHono(receiver)).fetch));
      return createServer(app);
    }),
  ),
  hostOf("srvx in Express", "express.json()", ({ fetch }) =>
    createServer(
      express5().use(express5.json(), toNodeHandler((request) => fetch(request)) as RequestHandler),
    ),
  ),
  ...(
    [
      ["Koa 3", Koa3],
      ["Koa 2", Koa2],
    ] as const
  ).flatMap(([framework, Koa]) =>
    [...ofKoa, none].map(([parser, middleware]) =>
      hostOf(framework, parser, (receiver) => {
        const app = new Koa();
        app.silent = true;
        if (middleware !== null) app.use(middleware);
        app.use(toKoa(receiver));
        return createServer(app.callback());
      }),
    ),
  ),
  ...[...ofHono, none].map(([parser, middleware]) =>
    hostOf("Hono", parser, (receiver) => {
      const app = new Hono();
      app.onError((error, c) =>
        error instanceof HTTPException ? error.getResponse() : c.text("failed", 500),
      );
      if (middleware !== null) app.use(middleware);
      app.post(path, toHono(receiver));
      return createAdaptorServer({ fetch: app.fetch }) as Server;
    }),
  ),
];

function hostOf(framework: string, parser: Parser | null, serve: ParserHost["serve"]): ParserHost {
  const name = `${framework}, ${parser === null ? "no parser" : `${parser} ahead`}`;
  return { name, parser, serve };
}
