import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createReceiver } from "@reporthook/core";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { freePort } from "@reporthook/test-support/free-port";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = await readFile(join(root, "docs/deploying.md"), "utf8");
const node = ["--conditions=@reporthook/source", "--import", "tsx"];

let program = "";
let emulator: Emulator;
let serviceUrl = "";
beforeAll(async () => {
  // Inside the workspace, so that the examples find the packages.
  program = await mkdtemp(join(root, "node_modules", ".deploying-"));
  await writeFile(join(program, "package.json"), '{ "type": "module" }');
  const [app = "", main = ""] = [...page.matchAll(/^```ts(?: serve)?\n(.*?)^```/gms)].map(
    ([, code = ""]) => code,
  );
  await writeFile(join(program, "app.ts"), app);
  await writeFile(join(program, "main.ts"), main);
  emulator = createEmulator();
  serviceUrl = (await emulator.listen()).url;
});
afterAll(async () => {
  await emulator?.close();
  await rm(program, { recursive: true, force: true });
});

/** A program of the page, in a separate process. */
interface Program {
  readonly child: ChildProcess;
  readonly url: string;
  readonly inbox: string;
  readonly ended: Promise<unknown[]>;
  /** The answers so far: whether each ends its connection, and the status or error of those that are not acknowledged. */
  readonly answers: { readonly ends: boolean; readonly failed?: unknown }[];
  /** The number of refused connections. */
  refused: number;
}

async function start(file: string): Promise<Program> {
  const folder = temporaryFolder();
  const [port, inbox] = [await freePort(), join(folder, "inbox.db")];
  const child = spawn(process.execPath, [...node, join(program, file)], {
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
  const url = `http://127.0.0.1:${port}`;
  await until(async () => {
    expect(child.exitCode).toBe(null);
    return (await fetch(`${url}/health`).catch(() => null))?.ok === true;
  });
  return { child, url, inbox, ended: once(child, "exit"), answers: [], refused: 0 };
}

const senders = 16;

/** Sends without a pause, from several at once, each until `isOver` or nothing listens. */
function load(program: Program, isOver: () => boolean): Promise<unknown> {
  const { url, answers } = program;
  const sender = async (): Promise<void> => {
    while (!isOver()) {
      const sent = emulator.notification("report.complete");
      const answer = await fetch(`${url}/webhooks/reports`, sent).catch((error: Error) => error);
      if (answer instanceof Error) {
        const code = (answer.cause as { readonly code?: unknown } | undefined)?.code;
        if (code === "ECONNREFUSED") {
          program.refused++;
          return;
        }
        answers.push({ ends: false, failed: code });
      } else {
        await answer.arrayBuffer();
        const ends = answer.headers.get("connection") === "close";
        answers.push({ ends, ...(!answer.ok && { failed: answer.status }) });
      }
    }
  };
  return Promise.all(Array.from({ length: senders }, sender));
}

async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitUntil(check, { timeout: 60_000, interval: 20 });
}

/** Expects that each request was acknowledged, and is handled now or by the next start. */
async function expectAllHandled({ inbox, answers }: Program): Promise<void> {
  expect(answers.filter(({ failed }) => failed !== undefined)).toEqual([]);
  const receiver = createReceiver({
    client: { authorize: async () => "valid" },
    inbox: sqliteInbox(inbox),
    logger: false,
  });
  onTestFinished(() => receiver.close());
  receiver.on("*", () => {});
  await receiver.start();
  await receiver.idle({ timeoutMs: 60_000 });
  expect((await receiver.inbox.counts()).handled).toBe(answers.length);
}

test("an app at SIGTERM under load answers 200 to all that reaches it, and ends by itself", async () => {
  const app = await start("app.ts");
  const loaded = load(app, () => false);
  await until(() => app.answers.length > 200);
  app.child.kill("SIGTERM");
  await loaded;
  expect(await app.ended).toEqual([0, null]);
  expect(app.refused).toBe(senders);
  await expectAllHandled(app);
});

test("a cluster that restarts its worker under load refuses nothing", async () => {
  const main = await start("main.ts");
  let isOver = false;
  const loaded = load(main, () => isOver);
  for (let restart = 1; restart <= 2; restart++) {
    const before = main.answers.length;
    main.child.kill("SIGHUP");
    await until(() => main.answers.slice(before).some(({ ends }) => ends));
  }
  isOver = true;
  await loaded;
  expect(main.refused).toBe(0);
  main.child.kill("SIGTERM");
  expect(await main.ended).toEqual([0, null]);
  await expectAllHandled(main);
});
