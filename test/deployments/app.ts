import { appendFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { serve } from "@hono/node-server";
import { createClient, createReceiver } from "@reporthook/core";
import { nodeHandler, shutdown } from "@reporthook/core/node";
import { reporthook as toExpress } from "@reporthook/express";
import { reporthook as toHono } from "@reporthook/hono";
import { reporthook as toKoa } from "@reporthook/koa";
import { sqliteInbox } from "@reporthook/sqlite";
import { patient } from "@reporthook/test-support/patient";
import express from "express";
import { Hono } from "hono";
import Koa from "koa";

/** A framework that the app can be written for. */
export type Framework = "node:http" | "Express" | "Koa" | "Hono";

/** How an app is started: as JSON in the environment variable DEPLOYED_APP. */
export interface AppOptions {
  readonly framework: Framework;
  readonly port: number;
  /** The inbox's file. */
  readonly file: string;
  /** Where its handler writes a line with the report's id. */
  readonly diary: string;
  readonly serviceUrl: string;
}

/** A message from an app to its parent: it listens, has acknowledged a notification, was told to end, has nothing to do. */
export type Told = "listens" | "used" | "closing" | "idle";

/** Longer than its parent waits: a process that does not end by itself is killed. */
const timeoutMs = 600_000;
const host = "127.0.0.1";
const path = "/";

const { framework, port, file, diary, serviceUrl } = JSON.parse(
  process.env["DEPLOYED_APP"] ?? "{}",
) as AppOptions;

let used = false;
const receiver = createReceiver({
  client: createClient({ baseUrl: serviceUrl, apiKey: "test-api-key" }),
  inbox: sqliteInbox(file),
  ...patient,
  observe: {
    acknowledged() {
      if (!used) tell("used");
      used = true;
    },
  },
});
receiver.on("report.complete", ({ reportId }) => appendFileSync(diary, `${reportId}\n`));

/** The same app on each framework. */
const apps: Record<Framework, () => Server> = {
  "node:http": () => createServer(nodeHandler(receiver)).listen(port, host),
  Express: () => express().post(path, toExpress(receiver)).listen(port, host),
  Koa: () => new Koa().use(toKoa(receiver)).listen(port, host),
  Hono: () =>
    serve({ fetch: new Hono().post(path, toHono(receiver)).fetch, port, hostname: host }) as Server,
};

const server = apps[framework]();
server.once("listening", () => tell("listens"));

process.once("SIGTERM", end);
// In the middle of the next request.
process.once("SIGINT", () => server.once("request", end));
process.on("message", () => void receiver.idle({ timeoutMs: 60_000 }).then(() => tell("idle")));
process.once("disconnect", () => process.exit(99));
// It ends by itself, and not because its parent lets it.
process.channel?.unref();

function tell(what: Told): void {
  process.send?.(what);
}

function end(): void {
  if (process.env["DEPLOYED_SHUTDOWN"] === "old") {
    server.close();
    void receiver.close();
  } else void shutdown(server, receiver, { timeoutMs });
  tell("closing");
}
