import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, expect, test } from "vitest";

// Where a bundle finds SQLite, on a Node that has none.
const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));
const folder = mkdtempSync(join(modules, ".thread-"));
afterAll(() => rmSync(folder, { recursive: true }));

const index = new URL("../index.ts", import.meta.url);

/** Runs lines of JavaScript in a process; resolves to what it prints. */
async function run(code: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const flags = ["--conditions=@reporthook/source", "--import", tsx, "--input-type=module"];
  const child = spawn(process.execPath, [...flags, "--eval", code], {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: "", ...env },
  });
  const [out, error] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return out + error;
}

test("an agent that NODE_OPTIONS imports runs in the process, and not in the thread", async () => {
  const agent = join(folder, "agent.mjs");
  writeFileSync(
    agent,
    `import { workerData } from "node:worker_threads";
    if (workerData?.path) throw new Error("address in use");
    globalThis.agent = "runs";`,
  );
  const said = await run(
    `const { sqliteInbox } = await import(${JSON.stringify(index.href)});
    const inbox = sqliteInbox("agent.db");
    await inbox.open();
    await inbox.close();
    console.log("opened, and the agent", agent);`,
    { NODE_OPTIONS: `--import ${pathToFileURL(agent).href}` },
  );
  expect(said).toBe("opened, and the agent runs\n");
});

// Windows removes no folder that is in use.
test.skipIf(process.platform === "win32")(
  "a working directory that was removed is named, and the inbox opens in another",
  async () => {
    const said = await run(
      `import { mkdtempSync, rmdirSync } from "node:fs";
      const { sqliteInbox } = await import(${JSON.stringify(index.href)});
      const home = process.cwd();
      const gone = mkdtempSync(home + "/gone-");
      const before = sqliteInbox("before.db");
      await before.open();
      await before.close();
      process.chdir(gone);
      rmdirSync(gone);
      const inbox = sqliteInbox(home + "/gone.db");
      await inbox.open().catch(({ code, message }) => console.log(code, message));
      process.chdir(home);
      await inbox.open();
      await inbox.close();
      console.log("opened");`,
    );
    expect(said).toMatch(
      /^inbox_failed The inbox's thread failed: the working directory was removed.*\nopened\n$/,
    );
  },
);

test.each(["esm", "cjs"] as const)(
  "sqliteInbox() throws when %s was bundled without the thread's file, and says so",
  async (format) => {
    const [loader, outfile] = [format === "esm" ? "mjs" : "cjs", join(folder, `bundle-${format}`)];
    await build({
      entryPoints: [fileURLToPath(index)],
      outfile: `${outfile}.${loader}`,
      bundle: true,
      platform: "node",
      format,
      conditions: ["@reporthook/source"],
      logLevel: "silent",
    });
    const said = await run(
      `const { default: whole, sqliteInbox = whole.sqliteInbox } = await import(
        ${JSON.stringify(pathToFileURL(`${outfile}.${loader}`).href)});
      try {
        sqliteInbox("bundled.db");
      } catch ({ code, message }) {
        console.log(code, message);
      }`,
    );
    expect(said).toMatch(
      /^inbox_failed @reporthook\/sqlite was bundled.*left behind.*as external \(in Next\.js: serverExternalPackages\)\n$/,
    );
  },
);
