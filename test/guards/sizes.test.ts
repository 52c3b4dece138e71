import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Node, SourceFile } from "typescript/unstable/ast";
import {
  isArrowFunction,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isFunctionExpression,
  isGetAccessorDeclaration,
  isMethodDeclaration,
  isSetAccessorDeclaration,
} from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";
import { afterAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const packages = readdirSync(join(root, "packages"));

const maxFileLines = 250;
const maxFolderFiles = 14;
const maxAdapterLines = 60;
const maxFunctionLines = 70;
/** All that a reader has to read: a feature that raises one of these does so where everybody sees it. */
const maxLines = {
  "core/src": 14_826,
  "core/src/inbox/memory": 820,
  "sqlite/src": 6_563,
  "cli/src": 4_400,
  "dashboard/src": 1_466,
  "dashboard/page": 2_271,
};

const api = new API({ cwd: root });
afterAll(() => api.close());

/** The sources of all packages, without tests and what is generated. */
const sources = ["tsconfig.json", "packages/dashboard/page/tsconfig.json"].flatMap((config) => {
  const file = join(root, config);
  const project = api.updateSnapshot({ openProject: file }).getProject(file);
  if (project === undefined) throw new Error(`${config} is no project`);
  return project.rootFiles
    .filter((name) => /\/packages\/[^/]+\/(src|page)\//.test(name))
    .filter((name) => !/\.test\.ts$|\.generated\.ts$/.test(name))
    .flatMap((name) => project.program.getSourceFile(name) ?? []);
});

const nameOf = ({ fileName }: SourceFile): string => relative(root, fileName);
const linesOf = (text: string): number => text.trimEnd().split("\n").length;

const isFunction = (node: Node): boolean =>
  [
    isArrowFunction,
    isFunctionDeclaration,
    isFunctionExpression,
    isMethodDeclaration,
    isConstructorDeclaration,
    isGetAccessorDeclaration,
    isSetAccessorDeclaration,
  ].some((is) => is(node));

/** The functions of a file that are too long, each with its lines. A closure that holds state counts as one function. */
function longFunctionsOf(file: SourceFile): string[] {
  const found: string[] = [];
  const visit = (node: Node): void => {
    const from = node.getStart(file);
    const lines = linesOf(file.text.slice(from, node.end));
    if (isFunction(node) && lines > maxFunctionLines) {
      found.push(`${nameOf(file)}:${linesOf(file.text.slice(0, from))} has ${lines} lines`);
    }
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

describe("sizes", () => {
  it.each(packages)("the functions of %s have at most 70 lines", (name) => {
    const files = sources.filter((file) => nameOf(file).startsWith(`packages/${name}/`));
    expect(files).not.toEqual([]);
    expect(files.flatMap((file) => longFunctionsOf(file))).toEqual([]);
  });

  it("the files have at most 250 lines", () => {
    const long = sources.filter(({ text }) => linesOf(text) > maxFileLines);
    expect(long.map(nameOf)).toEqual([]);
  });

  it("the folders have at most 14 files", () => {
    const folders = sources.map((file) => dirname(nameOf(file)));
    const large = [...new Set(folders)].filter(
      (folder) => folders.filter((other) => other === folder).length > maxFolderFiles,
    );
    expect(large).toEqual([]);
  });

  it.each(Object.entries(maxLines))("the folder %s has at most %i lines", (folder, max) => {
    const files = sources.filter((file) => nameOf(file).startsWith(`packages/${folder}/`));
    expect(files).not.toEqual([]);
    expect(files.reduce((sum, { text }) => sum + linesOf(text), 0)).toBeLessThanOrEqual(max);
  });

  it.each(["express", "koa", "hono"])("the adapter %s has at most 60 lines", (name) => {
    const folder = join(root, "packages", name, "src");
    const files = readdirSync(folder).filter((file) => /^(?!.*\.test\.).*\.ts$/.test(file));
    const lines = files.map((file) => linesOf(readFileSync(join(folder, file), "utf8")));
    expect(lines.filter((count) => count > maxAdapterLines)).toEqual([]);
  });
});
