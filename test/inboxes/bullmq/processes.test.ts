import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bullmqInbox } from "@reporthook/bullmq";
import { createEmulator } from "@reporthook/emulator";
import { evidence } from "@reporthook/test-support/evidence";
import { testWith } from "@reporthook/test-support/needs";
import { noPostgres, noRedis, startPostgres, startRedis } from "@reporthook/test-support/servers";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { describe, expect, vi } from "vitest";
import { Random } from "../crash/random.ts";
import { Cluster } from "./cluster.ts";

// The long run is `pnpm test:crash`; a seed repeats the choices of a run, though not its timing.
const kills = Number(process.env["CLUSTER_KILLS"] ?? 6);
const seed = Number(process.env["CLUSTER_SEED"] ?? Date.now() % 1_000_000);
const senders = 6;
// On a busy machine a shorter one is lost by processes that live, and five times is poison.
const leaseMs = 4_000;
const engines = [
  { kind: "Redis", start: () => startRedis(), missing: noRedis },
  { kind: "PostgreSQL", start: () => startPostgres(), missing: noPostgres },
] as const;

describe("3 web processes and 3 workers", () => {
  for (const { kind, start, missing } of engines) {
    const name = `a cluster on ${kind} loses nothing and handles nothing again in ${kills} kills and a restart of the server (CLUSTER_SEED=${seed})`;
    testWith(missing)(
      name,
      async () => {
        const random = new Random(seed);
        const server = await start();
        const emulator = createEmulator();
        const { url: serviceUrl } = await emulator.listen();
        const folder = temporaryFolder();
        const diary = join(folder, "diary");
        writeFileSync(diary, "");
        const cluster = new Cluster();
        const inbox = bullmqInbox({ connection: server.url, leaseMs, logger: false });
        const acknowledged: string[] = [];
        let sending = true;
        let made = 0;

        /** As a sender that sends again until it is answered 200. */
        async function send(): Promise<void> {
          while (sending) {
            const reportId = `r-${++made}`;
            const { method, headers, body } = emulator.notification("report.complete", {
              reportId,
            });
            for (let status = 0; status !== 200; ) {
              const url = cluster.urls[Math.floor(Math.random() * cluster.urls.length)] ?? "";
              const answer = await fetch(url, { method, headers, body }).catch(() => null);
              status = answer?.status ?? 0;
              await answer?.body?.cancel();
              await sleep(status === 200 ? 5 : 20);
            }
            acknowledged.push(reportId);
          }
        }

        try {
          const rest = { inboxUrl: server.url, serviceUrl, diary, leaseMs };
          for (const role of ["web", "worker"] as const) {
            for (let count = 0; count < 3; count++) await cluster.add(role, rest);
          }
          await cluster.ready();
          const all = Array.from({ length: senders }, send);
          for (let kill = 0; kill < kills; kill++) {
            await sleep(random.below(300));
            if (kill % 25 === Math.floor(Math.min(kills, 25) / 2)) {
              await server.kill();
              await server.start();
            }
            const signal = random.below(4) === 0 ? "SIGTERM" : "SIGKILL";
            await cluster.signal(random.below(cluster.size), signal);
          }
          await cluster.ready();
          sending = false;
          await Promise.all(all);
          await vi.waitUntil(async () => {
            const { received, verified } = await inbox.counts();
            return received + verified === 0;
          }, 60_000);

          expect(await inbox.list({ state: "parked" })).toEqual([]);
          const { handled, ...others } = await inbox.counts();
          expect(others).toEqual({ received: 0, verified: 0, held: 0, rejected: 0, dead: 0 });
          expect(handled).toBe(acknowledged.length);
          expect(acknowledged.length).toBeGreaterThan(kills);
          const { lost, twice, again } = read(diary, acknowledged);
          const did = { kills, notifications: acknowledged.length };
          evidence("cluster", did, { lost: lost.length, repeated: twice.length + again.length });
          expect(lost).toEqual([]);
          expect(twice).toEqual([]);
          expect(again).toEqual([]);
          expect(cluster.errors).toBe("");
        } finally {
          sending = false;
          await cluster.end();
          await inbox.close();
          await emulator.close();
          await server.stop();
        }
      },
      120_000 + kills * 10_000,
    );
  }
});

/** The broken promises in the diary: reports that no handler saw, that were stored as two deliveries, that were begun when done. */
function read(diary: string, acknowledged: readonly string[]) {
  const idOf = new Map<string, string>();
  const done = new Set<string>();
  const [twice, again]: [string[], string[]] = [[], []];
  for (const line of readFileSync(diary, "utf8").split("\n")) {
    const [what, id = "", reportId = ""] = line.split(" ");
    if (what === "done") done.add(id);
    if (what !== "begin") continue;
    if (done.has(id)) again.push(reportId);
    if ((idOf.get(reportId) ?? id) !== id) twice.push(reportId);
    idOf.set(reportId, id);
  }
  return { twice, again, lost: acknowledged.filter((reportId) => !idOf.has(reportId)) };
}
