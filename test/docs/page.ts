import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, createReceiver, type Receiver } from "@reporthook/core";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { freePort } from "@reporthook/test-support/free-port";
import { afterAll, expect, onTestFinished, vi } from "vitest";

/** The folder of the repository. */
export const root: string = fileURLToPath(new URL("../..", import.meta.url));

/** A TypeScript block of a page. */
export interface Block {
  /** The word behind `ts`. */
  readonly mode: string;
  readonly code: string;
}

/** The TypeScript blocks of a page, in their order. */
export async function blocksOf(page: string): Promise<readonly Block[]> {
  const text = await readFile(join(root, page), "utf8");
  const found = text.matchAll(/^```ts *(\w*)\n(.*?)^```/gms);
  return Array.from(found, ([, mode = "", code = ""]) => ({ mode, code }));
}

/** Makes a folder inside the workspace, so that programs in it find the packages; it is deleted after all tests of the file. */
export async function programFolder(): Promise<string> {
  const folder = await mkdtemp(join(root, "node_modules", ".page-"));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

/** An app of docs/deploying.md, in a separate process. */
export interface PageApp {
  readonly child: ChildProcess;
  readonly url: string;
  readonly ended: Promise<unknown[]>;
}

/** A service for apps of a page, until all tests of the file are over. */
export interface PageService {
  readonly emulator: Emulator;
  /** Starts Node with these arguments; resolves once the app is healthy. */
  start(args: readonly string[], inbox: string): Promise<PageApp>;
  /** Opens a file as the next start of an app would, and has what waits handled. */
  workOff(inbox: string): Promise<Receiver>;
}

/** Starts the service. */
export async function pageService(): Promise<PageService> {
  const emulator = createEmulator();
  afterAll(() => emulator.close());
  const { url: serviceUrl } = await emulator.listen();
  return {
    emulator,
    async start(args, inbox) {
      const port = await freePort();
      const child = spawn(process.execPath, args, {
        env: {
          ...process.env,
          PORT: String(port),
          REPORTS_URL: serviceUrl,
          INBOX: inbox,
          REPORTS_API_KEY: emulator.clientOptions.apiKey,
        },
        stdio: ["ignore", "ignore", "inherit"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      const app = { child, url: `http://127.0.0.1:${port}`, ended: once(child, "exit") };
      await until(async () => {
        expect(child.exitCode).toBe(null);
        return (await healthOf(app)) === 200;
      });
      return app;
    },
    async workOff(inbox) {
      const client = createClient(emulator.clientOptions);
      const receiver = createReceiver({ client, inbox: sqliteInbox(inbox), logger: false });
      onTestFinished(() => receiver.close());
      receiver.on("*", () => {});
      await receiver.start();
      await receiver.idle({ timeoutMs: 60_000 });
      return receiver;
    },
  };
}

/** The status of the app's health route, or null without an answer. */
export async function healthOf({ url }: Pick<PageApp, "url">): Promise<number | null> {
  const answer = await fetch(`${url}/health`).catch(() => null);
  await answer?.arrayBuffer();
  return answer?.status ?? null;
}

/** Waits for what an app does in its own time. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitUntil(check, { timeout: 60_000, interval: 20 });
}
