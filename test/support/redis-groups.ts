import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { type Server, startRedis } from "./servers.ts";

/** Three Redis servers that are one Redis Cluster. */
export async function startCluster(): Promise<readonly Server[]> {
  const nodes: Server[] = [];
  for (let count = 0; count < 3; count++) {
    const bus = await freePort();
    nodes.push(await startRedis(["--cluster-enabled", "yes", "--cluster-port", `${bus}`]));
  }
  const addresses = nodes.map(({ url }) => new URL(url).host);
  const create = ["--cluster", "create", ...addresses, "--cluster-yes"];
  execFileSync("redis-cli", create, { stdio: "ignore" });
  return nodes;
}

/** A Sentinel that watches a Redis under the name `main`. */
export async function startSentinel({
  url,
}: Pick<Server, "url">): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "reporthook-sentinel-"));
  const file = join(folder, "sentinel.conf");
  const port = await freePort();
  const { hostname, port: watched } = new URL(url);
  const lines = [`port ${port}`, "bind 127.0.0.1", `dir ${folder}`];
  writeFileSync(file, [...lines, `sentinel monitor main ${hostname} ${watched} 1\n`].join("\n"));
  const child = spawn("redis-server", [file, "--sentinel"]);
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      said += String(chunk);
      if (said.includes("+monitor master main")) resolve();
    });
    child.once("exit", () => reject(new Error(said)));
  });
  return {
    port,
    async stop() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}
