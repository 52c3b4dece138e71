import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { testWith } from "@reporthook/test-support/needs";
import { startScript } from "@reporthook/test-support/script";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { expect, test } from "vitest";
import { threadNotStarted } from "./spawn.ts";

const folder = temporaryFolder();

const index = new URL("../index.ts", import.meta.url);

/** Runs lines of JavaScript in a process; resolves to what it prints. */
async function run(code: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const given = { ...process.env, NODE_OPTIONS: "", ...env };
  const { stdout, stderr } = await startScript(code, { cwd: folder, env: given }).ended;
  return stdout + stderr;
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

testWith(process.platform === "win32" ? "Windows removes no folder that is in use" : null)(
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

test("threadNotStarted() names the option of Node without which its permission model refuses threads", () => {
  const denied = new Error("Access to this API has been restricted");
  const error = threadNotStarted(Object.assign(denied, { code: "ERR_ACCESS_DENIED" }));
  expect(error.message).toMatch(/can't be started: start Node with --allow-worker.*restricted/);
  expect(threadNotStarted(new Error("EAGAIN")).message).toMatch(/: Error: EAGAIN$/);
});
