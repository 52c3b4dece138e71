import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defaultServerConditions } from "vite";
import { configDefaults, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { Counted } from "./test/support/run/counted.ts";
import { filesOf } from "./test/support/run/lanes.ts";
import { Skipped } from "./test/support/run/skipped.ts";

// "module" is for bundlers: what some packages have there Node can't load.
const ofNode = defaultServerConditions.filter((condition) => condition !== "module");
const conditions = ["@reporthook/source", ...ofNode];

// With a configuration of their own.
const others = ["consumers", "mutation", "runtimes"].map((name) => `test/${name}/**`);
const { include, exclude, together } = filesOf(process.env["TEST_LANE"]);

// Those that take a minute begin first, or one of them would run alone at the end.
const longest = ["world", "cli", "damage", "bullmq-inbox", "contract", "crash", "readme"];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      longest.some((name) => moduleId.endsWith(`/${name}.test.ts`));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

// Where docs/evidence.md is made of what tests do, their random inputs are counted.
const inputs = fileURLToPath(new URL("test/support/run/inputs.ts", import.meta.url));
const counted = process.env["EVIDENCE"] ? [{ find: /^fast-check$/, replacement: inputs }] : [];

const putsBack = { restoreMocks: true, unstubEnvs: true, unstubGlobals: true };

const config: ViteUserConfig = {
  resolve: { alias: counted, conditions },
  ssr: { resolve: { conditions } },
  test: {
    // Almost half of a test's time is spent waiting for others, so two cores carry four files.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    // For those that ask whether something is let go of: switched on later, it can end the process.
    execArgv: ["--expose-gc"],
    sequence: { sequencer: LongestFirst },
    // For what hangs. Nothing is asserted by the time that it takes, and a loaded machine takes ten times as long.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    globalSetup: ["test/support/run/folder.ts"],
    reporters: ["default", new Skipped(), new Counted()],
    projects: [
      {
        extends: true,
        test: {
          name: "alone",
          include,
          exclude: [...configDefaults.exclude, ...others, ...exclude],
        },
      },
      {
        extends: true,
        test: { name: "together", include: together, isolate: false, ...putsBack },
      },
    ],
    coverage: {
      provider: "v8",
      include: ["packages/core/src/**/*.ts"],
      exclude: ["**/*.test.ts"],
      reporter: [["text", { skipFull: true }]],
      thresholds: { statements: 95 },
    },
  },
};

export default config;
