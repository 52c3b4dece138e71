import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmulator } from "@reporthook/emulator";
import { loadDriver, type Row, sqliteCode } from "@reporthook/sqlite/internals";
import type { AppOptions, Run } from "./app.ts";
import { AppProcess } from "./app-process.ts";
import { Sender } from "./sender.ts";

/** A folder with an inbox and the effects of handlers, the service, its sender, and any number of apps. */
export interface Scene {
  readonly sender: Sender;
  readonly apps: readonly AppProcess[];
  start(options?: Omit<AppOptions, "folder" | "serviceUrl">): AppProcess;
  /** The runs of handlers, in order. */
  runs(): Run[];
  /** The ids of events that had their effect. */
  effects(): string[];
  /** Makes a file in the folder, which handlers look for. */
  put(name: "open" | "fixed"): void;
  /** Reads the inbox's file. */
  read(sql: string): Row[];
  /** Whether a process holds the inbox's file for a second. */
  isHeld(): boolean;
  /** How many processes ended by SIGKILL. */
  kills(): Promise<number>;
}

/** Runs a test in a new scene; then ends what still runs and deletes the folder. */
export async function inScene<T>(run: (scene: Scene) => Promise<T>): Promise<T> {
  const scene = await createScene();
  try {
    return await run(scene);
  } finally {
    await scene.close();
  }
}

async function createScene(): Promise<Scene & { close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "reporthook-crash-"));
  const emulator = createEmulator();
  const { url: serviceUrl } = await emulator.listen();
  const apps: AppProcess[] = [];

  return {
    sender: new Sender(emulator),
    apps,
    start(options = {}) {
      const app = new AppProcess({ folder, serviceUrl, ...options });
      apps.push(app);
      return app;
    },
    runs() {
      const file = join(folder, "runs.jsonl");
      if (!existsSync(file)) return [];
      const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
      return lines.map((line) => JSON.parse(line) as Run);
    },
    effects: () => readdirSync(join(folder, "effects")),
    put: (name) => writeFileSync(join(folder, name), ""),
    read(sql) {
      const database = loadDriver().open(join(folder, "inbox.db"));
      try {
        return database.prepare(sql).all();
      } finally {
        database.close();
      }
    },
    isHeld() {
      const database = loadDriver().open(join(folder, "inbox.db"));
      try {
        database.exec("PRAGMA busy_timeout = 1000");
        database.exec("BEGIN IMMEDIATE; ROLLBACK");
        return false;
      } catch (error) {
        if (sqliteCode(error) !== "BUSY") throw error;
        return true;
      } finally {
        database.close();
      }
    },
    async kills() {
      const over = apps.filter(({ isOver }) => isOver);
      const endings = await Promise.all(over.map(({ ended }) => ended));
      return endings.filter(({ signal }) => signal === "SIGKILL").length;
    },
    async close() {
      // One that is stopped ends at this signal, too.
      await Promise.all(apps.map((app) => app.kill()));
      await emulator.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
