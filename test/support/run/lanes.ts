// These `pnpm test` leaves to `pnpm test:all`: a browser, packing, deployments, drills, the disk's failures, attacks and floods, many
// processes, damaged queues, effects exactly once, the tour, parsers ahead of the receiver, and that the contracts notice a fault.
const long = [
  ...["adapters/mount-parsers", "cli/*", "dashboard/*", "deployments/*", "drills/*"],
  ...["docs/{deploying,exactly-once,monitoring,operating,scaling,tour}", "guards/public-names"],
  ...["inboxes/{bullmq/*,durability/*,garbage,overload/*}", "monitoring/*", "once/*", "security/*"],
].map((name) => `test/${name}.test.ts`);
const longOfPackages =
  "packages/{bullmq/src/{damage,wrong-clock,server/connection-options},testing/src/inbox/contract}.test.ts";

// Files of which it runs a part.
const parted = [
  "packages/bullmq/src/{bullmq-inbox,handling-at-once,admin/admin,process/job-run}.test.ts",
  "packages/bullmq/src/server/{connection,durability-check}.test.ts",
  "packages/sqlite/src/writer-thread/dedupe.test.ts",
  "test/{guards/guard,inboxes/crash/*,world/*}.test.ts",
];

const all = ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"];

/** The files of a lane: `quick` is `pnpm test`, `all` is `pnpm test:all`, `rest` is what makes the first the second. */
export function filesOf(lane: string | undefined): {
  readonly include: string[];
  readonly exclude: string[];
} {
  return {
    include: lane === "rest" ? [...long, longOfPackages, ...parted] : all,
    exclude: lane === "quick" ? [...long, longOfPackages] : [],
  };
}
