import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";

const scripts = new URL("../../scripts/", import.meta.url);
const { installAdvice } = await import(String(new URL("install-advice.mjs", scripts)));
const { strayFiles } = await import(String(new URL("pack-files.mjs", scripts)));

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

  it.each([
    [true, " express"],
    [false, " express libsql"],
  ])(
    "pack:all prints the packages to install, libsql where Node has no SQLite, and their places for pnpm and Yarn: %s",
    (has, end) => {
      const made = (name: string, ...needs: string[]) => ({
        name: `@reporthook/${name}`,
        needs: needs.map((other) => `@reporthook/${other}`),
        tarball: `/tmp/a b/${name}.tgz`,
      });
      const packages = [
        made("core"),
        made("emulator"),
        made("express", "core"),
        made("sqlite", "core"),
        { ...made("cli", "emulator"), name: "reporthook" },
      ];
      const of = (...names: string[]) =>
        names.map((name) => `"/tmp/a b/${name}.tgz"`).join(" \\\n    ");
      const lines = installAdvice(packages, "/tmp/a b", has).split("\n  npm install ").slice(1);
      expect(lines[0].split("\n\n")[0]).toBe(of("core", "express", "sqlite") + end);
      expect(lines[1].split("\n\n")[0]).toBe(of("emulator", "cli"));
      const [line, resolutions = ""] = lines[2].split(/\n\n.*:\n\n/);
      expect(line).toBe(`--save-dev ${of("emulator")} supertest`);
      const places = packages.map(({ name, tarball }) => [name, `file:${tarball}`]);
      expect(JSON.parse(`{${resolutions}}`)).toEqual({ resolutions: Object.fromEntries(places) });
    },
  );

  it("a tarball carries code, types and what its package is known for, and nothing else", () => {
    const kept = ["package.json", "README.md", "LICENSE", "dist/esm/index.js"];
    const more = ["dist/cjs/inbox/time/clock.d.ts", "dist/cjs/package.json", "schema.sql"];
    const stray = ["dist/esm/index.js.map", "dist/esm/a.test.d.ts", "src/index.ts", "docs/a.md"];
    const files = new Set([...kept, ...more, ...stray]);
    expect(strayFiles({ name: "@reporthook/sqlite", files })).toEqual(stray);
    expect(strayFiles({ name: "@reporthook/core", files })).toEqual([
      "schema.sql",
      ...stray.slice(0, 3),
    ]);
  });
});
