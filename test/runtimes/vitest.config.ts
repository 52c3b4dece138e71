import type { ViteUserConfig } from "vitest/config";
import base from "../../vitest.config.ts";

const config: ViteUserConfig = {
  ...base,
  test: {
    include: ["test/runtimes/*.test.ts"],
    globalSetup: "test/runtimes/install.ts",
    reporters: ["verbose"],
    testTimeout: 300_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 60_000 } },
  },
};

export default config;
