#!/usr/bin/env node
// Checks the version of Node before any import.
const found = process.versions.node;
const [major = 0, minor = 0] = found.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `reporthook needs Node 20.19 or later, not ${found}: install one, and type the command again.`,
  );
  process.exit(1);
}
await import("./run.ts");

export {};
