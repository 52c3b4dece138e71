import { join } from "node:path";
import type { ViteUserConfig } from "vitest/config";
import base from "../../vitest.config.ts";

const core = join(import.meta.dirname, "../../packages/core/src");
const entries = ["store", "node", "telemetry"].map((name) => ({
  find: `@reporthook/core/${name}`,
  replacement: join(core, `${name}.ts`),
}));

const internals = {
  find: "@reporthook/core/internals",
  replacement: join(core, "../internals.ts"),
};
const support = {
  find: /^@reporthook\/test-support\/(.*)$/,
  replacement: join(import.meta.dirname, "../support/$1.ts"),
};

// The core that is mutated is the one beside this file, not the one that node_modules leads to.
const config: ViteUserConfig = {
  ...base,
  resolve: {
    ...base.resolve,
    alias: [
      ...entries,
      internals,
      support,
      { find: /^@reporthook\/core$/, replacement: join(core, "index.ts") },
    ],
  },
  // A broken loop is ended by Stryker, and a loaded machine must not pass for a mutant that was noticed.
  test: {
    include: (process.env["MUTATION_TESTS"] ?? "packages/core/src/**/*.test.ts").split(","),
    maxWorkers: 1,
    testTimeout: 60_000,
  },
};

export default config;
