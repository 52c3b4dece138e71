import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient, createReceiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { patient } from "@reporthook/test-support/patient";
import { programOf } from "@reporthook/test-support/program";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endAll } from "../cli/process.ts";
import { Canaries } from "./secrets/canaries.ts";
import { startWatched, type Watched } from "./secrets/programs.ts";
import { failingServices } from "./secrets/services.ts";

const canaries = new Canaries();
const apiKey = canaries.plant("api key", "key+/='KeyCanary8xk3bz6m");
const token = canaries.plant("callback token", "TokenCanary8s2m5v1xTokenCanary8s2m5v1x-4_z9");
const query = `?callback_token=1.eyJhIjoxfQ.${token}`;
const folder = temporaryFolder();
const db = join(folder, "inbox.db");
const emulator = createEmulator({ apiKey });
let services: Awaited<ReturnType<typeof failingServices>>;
let env: Record<string, string>;

beforeAll(async () => {
  services = await failingServices();
  env = { REPORTS_URL: (await emulator.listen()).url, REPORTS_API_KEY: apiKey };
  const client = createClient(emulator.clientOptions);
  const receiver = createReceiver({ client, inbox: sqliteInbox(db), logger: false, ...patient });
  for (const signature of ["valid", "invalid", "expired", "none"] as const) {
    const notification = emulator.notification("report.complete", { signature });
    const given = notification.headers["X-svc-authorization"];
    if (given !== undefined) canaries.plant("signature", given);
    await receiver.fetch(new Request("http://localhost/", notification));
  }
  await receiver.idle({ timeoutMs: 60_000 });
  await receiver.close();
});
afterAll(async () => {
  endAll();
  await emulator.close();
  await services.close();
});

const program = await programOf(new URL("../../packages/cli/src/main.ts", import.meta.url));

function cli(args: readonly string[], more: Record<string, string> = {}): Watched {
  return startWatched([program, ...args], { ...env, ...more });
}

describe("commands", () => {
  const to = `http://127.0.0.1:9/hook${query}`;
  const commands = [
    ["test", "--to", to],
    ["request", "--to", to, "--domain", "a.example", "--report-auth", "query"],
    ["trigger", "report.complete", "--to", to],
    ["doctor", "--to", to, "--requests", "2"],
    ["inbox", "list", "--db", db],
    ["inbox", "stats", "--db", db],
    ["request"],
  ];

  it("the command line prints no secret, nor takes one into the title of its process", async () => {
    const runs = commands.flatMap((args) => [cli(args), cli([...args, "--json"])]);
    const ended = await Promise.all(runs.map((run) => run.ended()));
    expect(ended.map(({ code }) => code)).toEqual([1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2]);
    for (const one of ended) expect(canaries.foundIn(one.shown), one.shown).toEqual([]);
  });

  it("the command line prints no secret for any answer of the service", async () => {
    const wanted = [
      "401 with JSON",
      "500 with text",
      "a redirect to the same query",
      "nobody there",
    ];
    const runs = wanted.map((name, index) => {
      const REPORTS_URL = services.urls.get(name) ?? "";
      const args = ["request", "--to", to, "--report-auth", "query"];
      return cli(index % 2 === 0 ? args : [...args, "--json"], { REPORTS_URL });
    });
    for (const one of await Promise.all(runs.map((run) => run.ended()))) {
      expect(one.code).toBe(1);
      expect(canaries.foundIn(one.shown), one.shown).toEqual([]);
    }
  });

  it("reporthook dev prints no secret", async () => {
    const dev = cli(["dev", "--port", "0", "--db", join(folder, "dev.db")]);
    await dev.printed("quit");
    for (const letter of ["t", "n", "b", "t"]) dev.type(letter);
    await dev.printed("attempt 1 of 3");
    await dev.printed(/verified +\w{26} report\.complete/);
    dev.type("q");
    const ended = await dev.ended();
    expect(canaries.foundIn(ended.shown), ended.shown).toEqual([]);
  });
});

it("the tour prints and keeps no secret", async () => {
  const file = join(folder, randomBytes(4).toString("hex"));
  const tour = ["--conditions=@reporthook/source", "--import", "tsx", "scripts/tour/main.ts"];
  const args = [...tour, "--exit", "--port", "0", "--db", file];
  const { code, shown } = await startWatched(args, {}).ended();
  const kept = readdirSync(folder)
    .filter((name) => file.endsWith(name.replace(/-(wal|shm)$/, "")))
    .map((name) => readFileSync(join(folder, name), "latin1"));
  expect([code, kept.length > 0]).toEqual([0, true]);
  // The key that the emulator has for all, the shape of its signatures, and of a token's end.
  const secrets = /test-api-key|v1\.\d{13}\.[\w-]{22}\.|callback_token|\bforged"?,/;
  expect(shown).not.toMatch(secrets);
  for (const bytes of kept) expect(bytes.match(secrets)?.[0]).toBeUndefined();
});
