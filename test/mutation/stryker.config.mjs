/** How `run.mjs` has each group of files mutated. */
export default {
  packageManager: "pnpm",
  testRunner: "vitest",
  vitest: { configFile: "test/mutation/vitest.config.ts", related: false },
  plugins: ["@stryker-mutator/vitest-runner"],
  // Stryker would rewrite tsconfig.json with an interface that TypeScript 7 no longer has.
  tsconfigFile: "test/mutation/none.json",
  coverageAnalysis: "perTest",
  ignoreStatic: true,
  // More than there are cores: most of the time a mutant is waited for that never ends.
  concurrency: 3,
  // A mutant whose tests take that much longer counts as noticed, because they may never end: nothing else must run meanwhile.
  timeoutMS: 5_000,
  tempDirName: "test/mutation/sandbox",
  reporters: ["dots"],
  logLevel: "warn",
};
