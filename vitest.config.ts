import { defaultServerConditions } from "vite";
import type { ViteUserConfig } from "vitest/config";

const conditions = ["@reporthook/source", ...defaultServerConditions];

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
