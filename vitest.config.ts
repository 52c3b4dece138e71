import { defaultServerConditions } from "vite";
import type { ViteUserConfig } from "vitest/config";

// "module" is for bundlers: what some packages have there Node can't load.
const ofNode = defaultServerConditions.filter((condition) => condition !== "module");
const conditions = ["@reporthook/source", ...ofNode];

const config: ViteUserConfig = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"],
    coverage: {
      provider: "v8",
      include: ["packages/*/src/**/*.ts"],
      exclude: ["**/*.test.ts"],
      reporter: [["text", { skipFull: true }]],
      thresholds: { "packages/core/src/**": { statements: 95 } },
    },
  },
};

export default config;
