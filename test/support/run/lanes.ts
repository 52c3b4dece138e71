import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));

// These `pnpm test` leaves to `pnpm test:all`: queues on Redis, a browser, packing, telemetry, deployments, drills, the disk's failures,
// copies, erasing, attacks and floods, many processes, reports on each inbox, effects exactly once, event loops that stand still, the tour,
// apps that are moved over, parsers ahead of the receiver, that the contracts notice a fault, and what is told of these lanes.
const long = [
  "adapters/{mount-parsers,parsers}",
  "cli/*",
  "dashboard/*",
  "deployments/*",
  "drills/*",
  "docs/{deploying,exactly-once,monitoring,moving-over,operating,scaling,tour,write-your-own}",
  "guards/{guard,lanes,needs,public-names,test-names}",
  "inboxes/{bullmq/*,durability/*,garbage,overload/*,reports/*}",
  "monitoring/*",
  "once/*",
  "security/*",
  "telemetry/*",
].map((name) => `test/${name}.test.ts`);
const longOfPackages = [
  "bullmq/src/**/*",
  "cli/src/inbox/many",
  "core/src/inbox/notices",
  "core/src/receiver-outage",
  "sqlite/src/{database/driver,erase-and-backup,sqlite-inbox,writer-thread/dedupe}",
  "testing/src/inbox/contract",
].map((name) => `packages/${name}.test.ts`);

// Files of which it runs a part.
const parted = ["test/{adapters/mount,docs/readme,inboxes/crash/*,world/*}.test.ts"];

const all = ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"];

/** Whether tests may change what their process has for all files, and vitest does not put back, such as loaded modules or the timers of what still runs. */
const changesItsProcess =
  /\bvi\.(?:mock|resetModules|useFakeTimers)\b|\bprocess\.(?:env|chdir|emit|exitCode|removeAll|stdin)|\bimport\(/;

/** Units whose files share a process: to begin one, and to load the sources, takes longer than their tests. */
function sharing(excluded: readonly string[]): string[] {
  // Beside a server or a file there are other processes, or threads.
  const packages = readdirSync(join(root, "packages")).filter(
    (name) => !["bullmq", "sqlite"].includes(name),
  );
  return packages
    .flatMap((name) => {
      const folder = `packages/${name}/src`;
      const files = readdirSync(join(root, folder), { encoding: "utf8", recursive: true });
      return files.map((file) => `${folder}/${file}`);
    })
    .filter((file) => file.endsWith(".test.ts") && !excluded.includes(file))
    .filter((file) => !changesItsProcess.test(readFileSync(join(root, file), "utf8")));
}

/** The files of a lane: `quick` is `pnpm test`, `rest` what `pnpm check` runs after it, `all` is `pnpm test:all`. */
export function filesOf(lane: string | undefined): {
  /** In a process for each. */
  readonly include: string[];
  readonly exclude: string[];
  /** In processes that they share. */
  readonly together: string[];
} {
  if (lane === "rest") {
    return { include: [...long, ...longOfPackages, ...parted], exclude: [], together: [] };
  }
  const left = lane === "quick" ? [...long, ...longOfPackages] : [];
  const together = sharing(left);
  return { include: all, exclude: [...left, ...together], together };
}
