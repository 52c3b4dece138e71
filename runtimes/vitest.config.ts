import type { ViteUserConfig } from "vitest/config";
import base from "../vitest.config.ts";

const config: ViteUserConfig = {
  ...base,
  test: {
    include: ["runtimes/*.test.ts"],
    globalSetup: "runtimes/install.ts",
    reporters: ["verbose"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
};

export default config;
