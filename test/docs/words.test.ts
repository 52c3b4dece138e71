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

/** The same for comments in the sources, which are shorter. */
const plainInComments: Readonly<Record<string, string>> = {
  ...plain,
  "\\b(what|who|which|how)(so)?ever\\b": "any; the one that",
  "(^|\\. )(What|Who|Those|It, as)\\b": "begin with the thing or its verb",
  "\\b(becomes?|became|comes?) of\\b": "the outcome; the result",
  "\\blets? go\\b": "closes; releases",
  "\\bnee?d be\\b": "if needed",
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
].filter((file) => !/node_modules|public-names|mutation.sandbox/.test(file));

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

/** The texts that a word makes hard to read, each with its place and the way out. */
function notPlain(
  file: string,
  texts: (readonly [number, string])[],
  words: Readonly<Record<string, string>>,
): string[] {
  return texts.flatMap(([number, text]) =>
    Object.entries(words).flatMap(([word, instead]) => {
      const [match] = new RegExp(word, "i").exec(text) ?? [];
      if (match === undefined) return [];
      return [`${file}:${number}: "${match.trim()}" (${instead}) in: ${text}`];
    }),
  );
}

describe.each(files)("%s", (file) => {
  const prose = proseOf(readFileSync(join(root, file), "utf8"));

  test("a page uses plain words", () => {
    expect(notPlain(file, prose, plain)).toEqual([]);
  });

  test("a page has no cell of a table over 100 characters", () => {
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

/** The comments of a source, each as one line, with the number of its first line. */
function commentsOf(code: string): (readonly [number, string])[] {
  const comments = code.matchAll(/\/\*\*([\s\S]*?)\*\/|(?<=^|[;{},] )[ \t]*\/\/ (.*)$/gm);
  return [...comments].map(({ 1: block, 2: line = "", index }) => {
    const [text = ""] = (block ?? line).split(/^\s*\*? ?@\w/m, 1);
    const prose = text
      .replace(/^\s*\* ?/gm, " ")
      .replace(/`[^`]*`/g, "``")
      .replace(/\s+/g, " ")
      .trim();
    return [code.slice(0, index).split("\n").length, prose] as const;
  });
}

/** The names of tests and of the cases of a contract, with the number of their line. */
function testNamesOf(code: string): (readonly [number, string])[] {
  const names = code.matchAll(
    /(?:(?<![.\w])(?:describe|it|test)[.\w]*\(|\)\(|\bname:)\s*(["'`])((?:\\.|(?!\1).)*)\1/g,
  );
  return [...names].map(({ 2: name = "", index }) => {
    return [code.slice(0, index).split("\n").length, name] as const;
  });
}

/** The sources below a folder that someone wrote. */
function sourcesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (/^(node_modules|dist|sandbox)$/.test(entry.name)) return [];
    if (entry.isDirectory()) return sourcesIn(path);
    return /(?<!\.generated)\.([cm]?[jt]s|tsx)$/.test(path) ? [path] : [];
  });
}

const folders = [
  "bench",
  "examples",
  "scripts",
  ...readdirSync(join(root, "test")).map((name) => `test/${name}`),
  ...readdirSync(join(root, "packages")).map((name) => `packages/${name}`),
];

test.each(folders)("the comments and the names of tests in %s use plain words", (folder) => {
  const found = sourcesIn(folder).flatMap((file) => {
    const code = readFileSync(join(root, file), "utf8");
    return [
      ...notPlain(file, commentsOf(code), plainInComments),
      ...notPlain(file, testNamesOf(code), plain),
    ];
  });
  expect(found).toEqual([]);
});

test("README.md has at most 180 lines, none over 120 characters outside code, and begins with an app", () => {
  const text = readFileSync(join(root, "README.md"), "utf8");
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(180);
  const lines = text.split("\n");
  expect(lines.slice(0, 25)).toContain('app.post("/webhooks/reports", reporthook(receiver));');
  const wide = proseOf(text).filter(([number]) => (lines[number - 1] ?? "").length > 120);
  expect(wide).toEqual([]);
});
