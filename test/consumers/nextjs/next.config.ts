import type { NextConfig } from "next";

const config: NextConfig = {
  output: "standalone",
  ...(process.env["TRACED"] !== undefined && { serverExternalPackages: ["@reporthook/sqlite"] }),
  ...(process.env["DIST"] !== undefined && { distDir: process.env["DIST"] }),
};

export default config;
