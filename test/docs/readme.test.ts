import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { createEmulator } from "@reporthook/emulator";
import { freePort } from "@reporthook/test-support/free-port";
import { isQuick, isRest, testWith } from "@reporthook/test-support/needs";
import { programOf } from "@reporthook/test-support/program";
import { noRedis, startRedis } from "@reporthook/test-support/servers";
import { beforeAll, describe, expect, test } from "vitest";
import { type Block, blocksOf, programFolder, root } from "./page.ts";
import { compile } from "./readme/compile.ts";
import { examplesOf, exportsOf } from "./readme/examples.ts";

const packages = await readdir(join(root, "packages"));
const docs = await readdir(join(root, "docs"));
const readmes = [
  "README.md",
  ...packages.map((name) => `packages/${name}/README.md`),
  ...docs.map((name) => `docs/${name}`),
];
const run = promisify(execFile);
const bundled = (file: string): Promise<string> => programOf(pathToFileURL(file));

/** One TypeScript block: compiled always; `run` ends by itself, `serve` takes notifications, `work` waits for them on Redis. */
interface NamedBlock extends Block {
  readonly name: string;
}

const blocks: NamedBlock[] = [];
for (const readme of readmes) {
  const package_ = readme.split("/").at(-2) ?? "root";
  for (const block of await blocksOf(readme)) {
    blocks.push({ name: `${package_}-${blocks.length}.ts`, ...block });
  }
}

/** The blocks of a mode that run: `pnpm test` has those of the first page, and the rest all others. */
const running = (mode: string): NamedBlock[] =>
  blocks.filter((block) => {
    const isFirst = block.name.startsWith("root-");
    return block.mode === mode && (isFirst ? !isRest : !isQuick);
  });

const examples = packages.flatMap((name) => examplesOf(root, name));

const folder = await programFolder();
beforeAll(async () => {
  await mkdir(join(folder, "examples"));
  for (const { name, code } of blocks) await writeFile(join(folder, name), code);
  for (const { name, code } of examples) await writeFile(join(folder, "examples", name), code);
});

test("the README blocks are found", () => {
  expect(blocks.length).toBeGreaterThanOrEqual(10);
  expect(new Set(blocks.map(({ mode }) => mode))).toEqual(new Set(["", "run", "serve", "work"]));
});

if (!isRest) {
  test("every README block compiles", async () => {
    expect(await compile(folder, ["*.ts"])).toBe("");
  });
}

if (!isQuick) {
  test("every @example of a doc comment compiles", async () => {
    expect(examples.length).toBeGreaterThanOrEqual(30);
    const given = join(root, "test", "docs", "readme", "given.ts");
    expect(await compile(join(folder, "examples"), ["*.ts", given])).toBe("");
  });
}

test.each(packages)("every function and class for apps of %s has an @example", (name) => {
  const shown = new Set(examples.map(({ of }) => of));
  const shownNowhere = [...exportsOf(root, name)]
    // The parts of inboxes and telemetry are shown at work in docs/write-your-own.md.
    .filter(([, { from, isType }]) => !isType && !/\/(store|telemetry)$/.test(from))
    .filter(([exported]) => !shown.has(exported));
  expect(shownNowhere.map(([exported]) => exported)).toEqual([]);
});

describe("README blocks marked run", () => {
  test.each(running("run"))("the $name runs", async ({ name }) => {
    await expect(
      run(process.execPath, [await bundled(join(folder, name))], { cwd: folder }),
    ).resolves.toBeDefined();
  });
});

describe("README blocks marked serve", () => {
  const ended = running("serve").map((block, index) => ({
    ...block,
    signal: signalOf(block, index),
  }));
  test.each(ended)("the block $name serves and ends, $signal", async ({ name, code, signal }) => {
    const emulator = createEmulator();
    const { url } = await emulator.listen();
    const port = await freePort();
    const server = spawn(process.execPath, [await bundled(join(folder, name))], {
      cwd: folder,
      env: {
        ...process.env,
        PORT: String(port),
        REPORTS_URL: url,
        REPORTS_API_KEY: emulator.clientOptions.apiKey,
      },
      stdio: "pipe",
    });
    try {
      const endpoint = `http://127.0.0.1:${port}/webhooks/reports`;
      await listening(server, endpoint);
      const send = async (): Promise<unknown[]> => {
        const answer = await fetch(endpoint, emulator.notification("report.complete"));
        return [answer.status, await answer.json()];
      };
      // On a busy machine the inbox may not be open yet: 503, to be sent again.
      await expect.poll(send).toEqual([200, { status: "accepted", id: expect.any(String) }]);
      server.kill(signal);
      const listens = code.includes(`"${signal}"`);
      expect(await once(server, "exit")).toEqual(listens ? [0, null] : [null, signal]);
    } finally {
      server.kill("SIGKILL");
      if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
      await emulator.close();
    }
  });
});

for (const { name, code } of running("work")) {
  testWith(noRedis)(`the block ${name} marked work starts and ends`, async () => {
    const redis = await startRedis();
    const file = join(folder, `told-${name}`);
    await writeFile(file, `${code}\nprocess.send?.("it has started");\n`);
    const worker = spawn(process.execPath, [await bundled(file)], {
      env: { ...process.env, INBOX_URL: redis.url },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const ended = once(worker, "exit");
    try {
      const first = await Promise.race([once(worker, "message"), ended]);
      expect(first[0]).toBe("it has started");
      worker.disconnect();
      worker.kill("SIGTERM");
      expect(await ended).toEqual([0, null]);
    } finally {
      worker.kill("SIGKILL");
      await ended;
      await redis.stop();
    }
  });
}

/** The signal to end a program with: Ctrl-C for every second one that listens to it. */
function signalOf({ code }: NamedBlock, index: number): NodeJS.Signals {
  return code.includes('"SIGINT"') && index % 2 === 0 ? "SIGINT" : "SIGTERM";
}

/** Resolves once the server takes connections; rejects with what it printed when it ends instead. */
async function listening(server: ChildProcess, url: string): Promise<void> {
  let printed = "";
  server.stderr?.on("data", (chunk) => {
    printed += chunk;
  });
  for (;;) {
    if (server.exitCode !== null) throw new Error(`${basename(url)} ended: ${printed}`);
    const up = await fetch(url, { method: "GET" }).then(
      () => true,
      () => false,
    );
    if (up) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
