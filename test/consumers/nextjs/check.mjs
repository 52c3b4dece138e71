// Builds the app with webpack and with Turbopack, copies each standalone folder elsewhere, and sends it a notification there.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createEmulator } from "@reporthook/emulator";
import { elsewhere, nodes, withoutModules } from "../elsewhere.mjs";

const emulator = createEmulator();
const { url } = await emulator.listen();
const { apiKey } = emulator.clientOptions;

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function receive(node, cwd, number) {
  const port = await freePort();
  const env = { ...process.env, PORT: port, HOSTNAME: "127.0.0.1" };
  const inbox = join(cwd, `inbox-${number}.db`);
  const server = spawn(node, ["server.js"], {
    cwd,
    env: { ...env, REPORTS_URL: url, REPORTS_API_KEY: apiKey, INBOX: inbox },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const sent = emulator.notification("report.complete", { reportId: `r-${number}` });
    for await (const line of createInterface(server.stdout)) {
      if (/Ready in/.test(line)) {
        const answer = await fetch(`http://127.0.0.1:${port}/api/webhooks/reports`, sent);
        assert.equal(answer.status, 200, await answer.text());
      }
      if (line === `Report r-${number} is ready`) return;
    }
    throw new Error("The server ended");
  } finally {
    const ended = once(server, "exit");
    if (server.kill("SIGKILL")) await ended;
  }
}

/** Builds the app; `env` may have the inbox kept out of the bundle and its files traced. Returns the standalone folder. */
function build(bundler, env) {
  const dist = `built-by-${bundler}${env.TRACED === undefined ? "" : "-traced"}`;
  execFileSync("next", ["build", `--${bundler}`], {
    env: { ...process.env, DIST: dist, NEXT_TELEMETRY_DISABLED: "1", ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return join(dist, "standalone");
}

const [, node24] = nodes;
const all = [
  [build("webpack", { TRACED: "1" }), nodes],
  [build("turbopack", { TRACED: "1" }), nodes],
  // In a bundle it needs no file but libsql, which is not traced then: Node 24 has its own SQLite.
  [build("turbopack", {}), [node24]],
];
await withoutModules(async () => {
  for (const [standalone, used] of all) {
    await elsewhere(standalone, async (folder) => {
      // In a workspace it has the folders of the workspace.
      const app = join(folder, "nextjs");
      for (const [number, node] of used.entries()) await receive(node, app, number);
      console.log(`received ${used.length} times in ${standalone}`);
    });
  }
});
await emulator.close();
