// Runs the suite that it is told on Node, Bun or Deno.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteInbox } from "@reporthook/sqlite";
import { inboxContract } from "@reporthook/testing";
import { nodeHosts } from "../../adapters/hosts/node.ts";
import type { Suite } from "../runtimes.ts";
import { throughTheEmulator } from "./emulator.ts";
import { onHost, type Suites, suitesEverywhere } from "./everywhere.ts";
import { ownHost, withoutNodesLimits } from "./own-server.ts";
import { runSuite, type SuiteReport } from "./suite.ts";

const suites: Suites = {
  ...suitesEverywhere,
  "own server": onHost(ownHost ?? nodeHosts["node:http"]),
  "node:http": onHost(withoutNodesLimits(nodeHosts["node:http"])),
  Express: onHost(withoutNodesLimits(nodeHosts["Express 5, app.post"])),
  Koa: onHost(withoutNodesLimits(nodeHosts["Koa 3, router.post"])),
  "SQLite inbox": onDisk,
  emulator: () => runSuite(throughTheEmulator),
};

async function onDisk(): Promise<SuiteReport> {
  const folder = mkdtempSync(join(tmpdir(), "reporthook-runtime-"));
  let files = 0;
  const open = () => sqliteInbox(join(folder, `${++files}.db`));
  const { guarantees } = open();
  const report = await runSuite(inboxContract({ open, guarantees, patienceMs: 60_000 }));
  rmSync(folder, { recursive: true });
  return report;
}

const suite = suites[process.argv[2] as Suite];
if (suite === undefined) throw new Error(`The suites are: ${Object.keys(suites).join(", ")}`);
// Some cases wait for nothing but timers that keep no process alive.
setInterval(() => {}, 60_000);
console.log(JSON.stringify(await suite()));
process.exit();
