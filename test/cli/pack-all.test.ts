import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";

describe("packing", () => {
  it.each([
    ["no folder", []],
    ["an option", ["--help"]],
    ["two folders", ["one", "two"]],
  ])("pack:all says what is wanted, and builds nothing, given %s", (_, args) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["scripts/pack-all.mjs", ...args],
      { encoding: "utf8" },
    );
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toBe("Name one folder for the tarballs: npx --yes pnpm@10 pack:all DIR\n");
  });
});
