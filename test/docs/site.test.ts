import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { compose } from "../../site/compose.ts";
import { llmsText } from "../../site/llms.ts";
import { anchorOf, relink, sectionsOf } from "../../site/markdown.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("every section is on a page, and every link leads somewhere", () => {
  const { pages, groups } = compose(root);
  expect(groups.flatMap((group) => group.pages.map(({ to }) => to))).toEqual([...pages.keys()]);
  expect(pages.get("options")).toContain(
    "## Responses of the endpoint\n\nThe receiver answers in JSON",
  );
  expect(pages.get("security")).toContain("(/deploying#server-settings)");
});

test("llms.txt links the Markdown of every page", () => {
  const site = compose(root);
  const linked = [...llmsText(site).matchAll(/\]\(\/(.*)\.md\)/g)].map(([, page]) => page);
  expect(linked).toEqual([...site.pages.keys()]);
});

test("a heading says what a reader searches for", () => {
  const headings = [...compose(root).pages.values()].flatMap(
    (text) => text.match(/^#+ .*$/gm) ?? [],
  );
  for (const words of [/handler fails/i, /nothing arrives/i, /503/, /rejected/i]) {
    expect(headings.some((heading) => words.test(heading))).toBe(true);
  }
});

test("every Markdown file that is written for readers is on the site", () => {
  const { sources } = compose(root);
  const packages = readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`);
  const docs = readdirSync(join(root, "docs")).map((name) => `docs/${name}`);
  for (const file of ["README.md", "SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]) {
    expect(sources).toContain(file);
  }
  expect(sources).toEqual(expect.arrayContaining([...packages, ...docs]));
});

test("compose() names each link that leads nowhere and each section without a page", async () => {
  const folder = mkdtempSync(join(tmpdir(), "site-"));
  for (const part of ["docs", "decisions", "SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]) {
    await cp(join(root, part), join(folder, part), { recursive: true });
  }
  const text = "# X\n\n[a](docs/gone.md) [b](#gone)\n\n`[c](#code)` is code\n";
  writeFileSync(join(folder, "README.md"), text);
  mkdirSync(join(folder, "packages/core"), { recursive: true });
  writeFileSync(join(folder, "packages/core/README.md"), "# Core\n\n## Fetch\n\n## New\n");
  expect(() => compose(folder)).toThrow(/README.md: docs\/gone.md leads nowhere/);
  expect(() => compose(folder)).toThrow(/README.md: #gone leads nowhere/);
  expect(() => compose(folder)).toThrow(
    /packages\/core\/README.md: the section #new is on no page/,
  );
  expect(() => compose(folder)).not.toThrow(/#code/);
});

test("anchorOf() is what repositories make of a heading", () => {
  expect(anchorOf("What the service's document does not show")).toBe(
    "what-the-services-document-does-not-show",
  );
  expect(anchorOf("A `code`, and [a link](x.md)")).toBe("a-code-and-a-link");
});

test("sectionsOf() and relink() leave code alone", () => {
  const text = "# T\n\nHead\n\n```sh\n# no heading\n[no](link.md)\n```\n\n## Real\n\n[a](b.md)\n";
  expect(sectionsOf(text).map(({ anchor }) => anchor)).toEqual(["", "real"]);
  const led = (markdown: string): string =>
    relink(markdown, ({ text, to }) => ({ text: text.toUpperCase(), to: `/${to}` }));
  expect(led(text)).toContain("[no](link.md)");
  expect(led(text)).toContain("[A](/b.md)");
  expect(led("![a](b.png) [web](https://x.example)")).toBe("![A](/b.png) [web](https://x.example)");
  expect(led("[`a`](b) `[c](d)` [e `f`](g)")).toBe("[`A`](/b) `[c](d)` [E `F`](/g)");
});
