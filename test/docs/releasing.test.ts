import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const { linksOf, packedReadme } = await import(
  String(new URL("../../scripts/pack-readme.mjs", import.meta.url))
);

interface Manifest {
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines: { readonly node: string };
  readonly publishConfig: { readonly access: string; readonly exports?: object };
  readonly exports: object;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest;

describe.each(readdirSync(join(root, "packages")))("%s can be published", (name) => {
  const manifest = manifestOf(`packages/${name}`);

  it("has the version of all, the licence and the engine of the workspace", () => {
    const { license, engines } = manifestOf("");
    const { version } = manifestOf("packages/core");
    expect(manifest).toMatchObject({ version, license, engines: { node: engines.node } });
    expect(manifest.description).not.toBe("");
    expect(manifest.publishConfig.access).toBe("public");
  });

  it("exports the same entries published as in the workspace", () => {
    const { exports: published = manifest.exports } = manifest.publishConfig;
    expect(Object.keys(published)).toEqual(Object.keys(manifest.exports));
  });

  it("has a changelog that begins with its version", () => {
    const file = join(root, "packages", name, "CHANGELOG.md");
    // The first `changeset version` writes one.
    if (existsSync(file))
      expect(readFileSync(file, "utf8")).toContain(`\n## ${manifest.version}\n`);
  });
});

describe("packedReadme()", () => {
  const packed = (text: string): string =>
    packedReadme(text, "sqlite", (path: string) => path === "schema.sql");

  it.each([
    ["[tables](schema.sql#x), [own](#own), [web](https://a.example/b)", null],
    ["see [restore](../../docs/a.md#b).", "see restore (`docs/a.md` in the repository)."],
    ["[docs/a.md](../../docs/a.md)", "`docs/a.md` in the repository"],
    ["[`@a/b`](../b/README.md)", "`@a/b` (`packages/b/README.md` in the repository)"],
    ["[reporthook](../../README.md)", "reporthook"],
    ["![A picture](pictures/a.png)", ""],
  ])("of %s", (text, expected) => {
    expect(packed(text)).toBe(expected ?? text);
  });

  it.each(readdirSync(join(root, "packages")))("leaves no dead link in that of %s", (name) => {
    const readme = readFileSync(join(root, "packages", name, "README.md"), "utf8");
    expect(linksOf(packedReadme(readme, name, () => false))).toEqual([]);
  });
});
