import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Node } from "typescript/unstable/ast";
import {
  isCallExpression,
  isIdentifier,
  isPropertyAccessExpression,
  isPropertyAssignment,
} from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** How a subject begins: as a symbol (`close()`, `before-ack`, `503`), which no verb looks like, or with a determiner. */
const subjects = [
  /^[^\s$%]*(\(\)|\w[.:_-]\w|[a-z][A-Z]|[A-Z]{2}|\d|:)/,
  /^(an?|the|no|nothing|each|every|all|both|two|three|many|what|reporthook) /,
];

/** The first identifier of a chain like `it.each(rows)`. */
function rootOf(node: Node): string {
  if (isIdentifier(node)) return node.text;
  return isPropertyAccessExpression(node) || isCallExpression(node) ? rootOf(node.expression) : "";
}

/** The expression that names a test: the first argument of `it`, `test` or a helper, or `name` of a contract's case. */
function nameIn(node: Node, file: string): Node | undefined {
  if (isPropertyAssignment(node)) {
    const isCase = /\/testing\/src\/(inbox|mount)\//.test(file);
    return isCase && rootOf(node.name) === "name" ? node.initializer : undefined;
  }
  if (!isCallExpression(node) || node.arguments.length < 2) return undefined;
  return /^(it|test|testIn\w+|testWith\w*)$/.test(rootOf(node.expression))
    ? node.arguments[0]
    : undefined;
}

it("every test's name says what it is about: a symbol, or a noun with its article", () => {
  const api = new API({ cwd: root });
  const config = `${root}/tsconfig.json`;
  const project = api.updateSnapshot({ openProject: config }).getProject(config);
  const names: [at: string, name: string][] = [];
  const isOfTests = /\.test\.ts$|\/testing\/src\/|\/test\//;
  for (const name of project?.rootFiles.filter((name) => isOfTests.test(name)) ?? []) {
    const file = project?.program.getSourceFile(name);
    const visit = (node: Node): void => {
      const text = nameIn(node, name)?.getText() ?? "";
      const at = `${relative(root, name)}: ${text}`;
      // A name made of another one has the subject of that.
      if (/^["'`](?!\$\{name\} )/.test(text)) names.push([at, text.slice(1)]);
      node.forEachChild(visit);
    };
    if (file !== undefined) visit(file);
  }
  api.close();
  expect(names.length).toBeGreaterThan(1_500);
  const without = names.filter(([, name]) => !subjects.some((begin) => begin.test(name)));
  expect(without.map(([at]) => at)).toEqual([]);
});
