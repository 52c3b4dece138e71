// These `pnpm test` leaves to `pnpm test:all`: a browser, packing, deployments, drills, the disk's failures, attacks and floods, many
// processes, damaged queues, effects exactly once, the tour, parsers ahead of the receiver, and that the contracts notice a fault.
const long = [
  ...["adapters/mount-parsers", "cli/*", "dashboard/*", "deployments/*", "drills/*"],
  ...[
    "docs/{deploying,exactly-once,monitoring,operating,scaling,tour}",
    "guards/{public-names,test-names}",
  ],
  ...["inboxes/{bullmq/*,durability/*,garbage,overload/*}", "monitoring/*", "once/*", "security/*"],
].map((name) => `test/${name}.test.ts`);
const longOfPackages = [
  ...[
    "bullmq/src/{damage,wrong-clock,server/{connection*,durability-check}}",
    "core/src/receiver-outage",
  ],
  "testing/src/inbox/contract",
].map((name) => `packages/${name}.test.ts`);

// Files of which it runs a part.
const parted = [
  "packages/sqlite/src/writer-thread/dedupe.test.ts",
  "test/{adapters/mount,docs/readme,guards/guard,inboxes/crash/*,world/*}.test.ts",
];

const all = ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"];

/** The files of a lane: `quick` is `pnpm test`, `rest` what `pnpm check` runs after it, `all` is `pnpm test:all`. */
export function filesOf(lane: string | undefined): {
  readonly include: string[];
  readonly exclude: string[];
} {
  return {
    include: lane === "rest" ? [...long, ...longOfPackages, ...parted] : all,
    exclude: lane === "quick" ? [...long, ...longOfPackages] : [],
  };
}
