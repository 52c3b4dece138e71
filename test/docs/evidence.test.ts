import { readFile } from "node:fs/promises";
import type { Evidence } from "@reporthook/test-support/evidence";
import { expect, test } from "vitest";
import { notRun, pageOf, rows } from "../../scripts/evidence.ts";

const page = await readFile(new URL("../../docs/evidence.md", import.meta.url), "utf8");
const at = "2026-05-01T10:00:00.000Z";
const line = (given: Partial<Evidence>): Evidence => ({
  kind: "once",
  did: { kills: 1 },
  wrong: { lost: 0 },
  at,
  node: "20.19.0",
  ...given,
});

/** The cells of the rows of a page's table. */
function cellsIn(text: string): string[][] {
  const [, , ...table] = text.split("\n").filter((each) => each.startsWith("|"));
  return table.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test("docs/evidence.md has the form that pnpm evidence gives it, and was not run or has numbers in each row", () => {
  expect(cellsIn(page).map(([what]) => what)).toEqual(Object.values(rows).map(([what]) => what));
  for (const [what, did = "", wrong = "", node = "", when = ""] of cellsIn(page)) {
    const numbers = /^[\d,]+ [a-z ]+(, [\d,]+ [a-z ]+)*$/;
    const isRun =
      numbers.test(did) && numbers.test(wrong) && /^[\d.]+/.test(node) && /^\d{4}-/.test(when);
    expect(isRun || [did, wrong, node, when].join() === `${notRun},,,`, what).toBe(true);
  }
  const [, machine = ""] = / The machine: (.+)\.$/m.exec(page) ?? [];
  expect(machine).toMatch(/^\d+ cores/);
  const empty = pageOf([], machine);
  expect(page.split("| What")[0]).toBe(empty.split("| What")[0]);
});

test("pageOf() shows each row as not run without evidence, and no number", () => {
  const shown = cellsIn(pageOf([], "a machine"));
  expect(shown.map(([, did]) => did)).toEqual(Object.keys(rows).map(() => notRun));
  expect(shown.flatMap((cells) => cells.slice(1, 5)).join("")).not.toMatch(/\d/);
});

test("pageOf() adds up results and faults, with each Node, day and name", () => {
  const text = pageOf(
    [
      line({ did: { kills: 5 } }),
      line({
        did: { kills: 1_300 },
        wrong: { lost: 2 },
        node: "24.1.0",
        at: "2026-05-03T00:00:00Z",
      }),
      line({ kind: "runtimes", name: "Deno 2" }),
      line({ kind: "runtimes", name: "Bun 1" }),
      line({ kind: "runtimes", name: "Deno 2" }),
    ],
    "a machine",
  );
  const row = cellsIn(text)[Object.keys(rows).indexOf("once")];
  const when = "2026-05-01 to 2026-05-03";
  expect(row?.slice(1, 5)).toEqual(["1,305 kills", "2 lost", "20.19.0, 24.1.0", when]);
  expect(text).toContain("\n- runtimes: Bun 1, Deno 2\n");
});

test("each row of docs/evidence.md has a test or a script that adds to it, and no other kind is added", async () => {
  const writers = [
    "world/world",
    "inboxes/crash/crash",
    "inboxes/bullmq/processes",
    "once/once",
    "deployments/deployments",
    "runtimes/suites",
  ].map((name) => `test/${name}.test.ts`);
  writers.push("test/support/run/inputs.ts", "test/support/run/counted.ts");
  writers.push("test/mutation/run.mjs", "scripts/pack-check.mjs");
  const sources = await Promise.all(
    writers.map((name) => readFile(new URL(`../../${name}`, import.meta.url), "utf8")),
  );
  const kinds = sources.flatMap((source) =>
    [...source.matchAll(/\bevidence\("(\w+)"|kind: "([a-z]+)"/g)].map(
      (found) => found[1] ?? found[2],
    ),
  );
  expect([...new Set(kinds)].sort()).toEqual(Object.keys(rows).sort());
});
