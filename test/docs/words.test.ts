import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Words that a reader has to translate, with plain ones for them. */
const plain: Readonly<Record<string, string>> = {
  "\\bmend(s|ed|ing)?\\b": "fix",
  "\\bwhom?(so)?ever\\b": "anyone who; the one that",
  "\\banew\\b": "again",
  "\\bof (its|their|his|her|our) own\\b": "its own …; separate",
  "\\btries? (it )?at once\\b": "retries immediately",
  "\\bgive(s|n)? way\\b": "is deprioritized",
  "\\bfor ever\\b": "without end",
  "\\bhas it (tried|handled|had)\\b": "retries it; handles it",
  "\\breckon": "calculate; expect",
  "(^|[.:;] )(What|Who|Those that) [a-z' ]+ (is|are|was|were|has|have|can|goes|comes)\\b":
    "begin with the subject",
};

/** The Markdown files of a folder; all below it if `recursive`. */
function markdownIn(folder: string, recursive = false): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name));
}

const files = [
  ...[".", "docs", "decisions", "site"].flatMap((folder) => markdownIn(folder)),
  ...readdirSync(join(root, "packages")).flatMap((name) => markdownIn(`packages/${name}`)),
  ...markdownIn("test", true),
].filter((file) => !/node_modules|public-names/.test(file));

/** The lines of prose, numbered from 1: without code, which is checked elsewhere, and without the addresses of links. */
function proseOf(markdown: string): (readonly [number, string])[] {
  let isCode = false;
  return markdown.split("\n").flatMap((line, index) => {
    const isFence = /^ *```/.test(line);
    if (isFence) isCode = !isCode;
    const prose = line.replace(/`[^`]*`/g, "``").replace(/\]\([^)]*\)/g, "]");
    return isFence || isCode ? [] : [[index + 1, prose] as const];
  });
}

describe.each(files)("%s", (file) => {
  const prose = proseOf(readFileSync(join(root, file), "utf8"));

  test("uses plain words", () => {
    const found = prose.flatMap(([number, line]) =>
      Object.entries(plain).flatMap(([word, instead]) => {
        const [match] = new RegExp(word, "i").exec(line) ?? [];
        return match === undefined ? [] : [`${file}:${number}: "${match.trim()}" (${instead})`];
      }),
    );
    expect(found).toEqual([]);
  });

  test("has no cell of a table over 100 characters", () => {
    const text = readFileSync(join(root, file), "utf8").split("\n");
    const wide = prose.flatMap(([number]) => {
      const line = text[number - 1] ?? "";
      if (!line.startsWith("|")) return [];
      const longest = Math.max(...line.split(/(?<!\\)\|/).map((cell) => cell.trim().length));
      return longest > 100 && !/^[|\s:-]+$/.test(line) ? [`${file}:${number}: ${longest}`] : [];
    });
    expect(wide).toEqual([]);
  });
});

test("README.md has at most 180 lines, none over 120 characters outside code", () => {
  const text = readFileSync(join(root, "README.md"), "utf8");
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(180);
  const lines = text.split("\n");
  const wide = proseOf(text).filter(([number]) => (lines[number - 1] ?? "").length > 120);
  expect(wide).toEqual([]);
});
