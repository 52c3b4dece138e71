import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const { linksOf, packedMarkdown } = await import(
  String(new URL("../../scripts/pack-links.mjs", import.meta.url))
);

interface Manifest {
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly sideEffects: boolean;
  readonly license: string;
  readonly engines: { readonly node: string };
  readonly publishConfig: { readonly access: string; readonly exports?: object };
  readonly exports: object;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest;

describe.each(readdirSync(join(root, "packages")))("%s", (name) => {
  const manifest = manifestOf(`packages/${name}`);

  it("a package has the version of all, the licence and the engine of the workspace", () => {
    const { license, engines } = manifestOf("");
    const { version } = manifestOf("packages/core");
    expect(manifest).toMatchObject({ version, license, engines: { node: engines.node } });
    expect(manifest.description).not.toBe("");
    expect(manifest.keywords).not.toEqual([]);
    expect(manifest.sideEffects).toBe(false);
    expect(manifest.publishConfig.access).toBe("public");
  });

  it("a package takes any version of a peer of ours", () => {
    // With a narrower range the next minor version would become 1.0.0: it leaves that range, which breaks dependents.
    const ours = Object.entries(manifest.peerDependencies ?? {}).filter(([peer]) =>
      peer.startsWith("@reporthook/"),
    );
    expect(ours.filter(([, range]) => range !== "workspace:>=0.0.0")).toEqual([]);
  });

  it("a package exports the same entries published as in the workspace", () => {
    const { exports: published = manifest.exports } = manifest.publishConfig;
    const inWorkspace = Object.keys(manifest.exports).filter((entry) => entry !== "./internals");
    expect(Object.keys(published)).toEqual(inWorkspace);
  });
});

it("CHANGELOG.md and core's code have the version of the packages", () => {
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const [, latest] = /^## (\S+)$/m.exec(changelog) ?? [];
  const { version } = manifestOf("packages/core");
  expect(latest).toBe(version);
  const code = readFileSync(join(root, "packages/core/src/lib/version.ts"), "utf8");
  expect(code).toContain(`version = "${version}"`);
});

describe("links", () => {
  const there = ["sqlite/schema.sql", "core/docs/a.md", "core/docs/README.md", "core/README.md"];
  const packed = (text: string, path = "packages/sqlite/README.md"): string =>
    packedMarkdown(text, path, (to: string) => there.includes(to.replace("@reporthook/", "")));

  it.each([
    ["[tables](schema.sql#x), [own](#own), [web](https://a.example/b)", null],
    ["see [restore](../../docs/a.md#b).", "see [restore](../core/docs/a.md#b)."],
    ["[reporthook](../../README.md)", "[reporthook](../core/docs/README.md)"],
    ["[`hono`](../hono/README.md)", "`hono` (`@reporthook/hono/README.md`)"],
    ["[bench/a.md](../../bench/a.md)", "`bench/a.md` in the repository"],
    ["![A picture](pictures/a.png)", ""],
  ])("packedMarkdown() links %s of a package to its place", (text, expected) => {
    expect(packed(text)).toBe(expected ?? text);
  });

  it.each([
    ["[a](a.md)", null],
    ["[core](../packages/core/README.md)", "[core](../README.md)"],
    ["[reporthook](../README.md)", "[reporthook](README.md)"],
    ["[app](../examples/fastify/app.js)", "app (`examples/fastify/app.js` in the repository)"],
  ])("packedMarkdown() links %s of the docs in core's tarball", (text, expected) => {
    expect(packed(text, "docs/b.md")).toBe(expected ?? text);
  });

  it.each([
    ["[bench](../../bench/a.md#b)", "[bench](https://a.example/r/blob/main/bench/a.md#b)"],
    ["![A](p/a.png)", "![A](https://a.example/r/raw/main/packages/sqlite/p/a.png)"],
  ])("packedMarkdown() links %s to the repository, once it has an address", (text, expected) => {
    const path = "packages/sqlite/README.md";
    expect(packedMarkdown(text, path, () => false, "https://a.example/r")).toBe(expected);
  });

  it.each(readdirSync(join(root, "packages")))("the README of %s has no dead link", (name) => {
    const path = `packages/${name}/README.md`;
    const readme = readFileSync(join(root, path), "utf8");
    expect(linksOf(packedMarkdown(readme, path, () => false))).toEqual([]);
  });
});
