import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingProgram, testWith } from "../../packages/core/test-support/needs.ts";
import { rules } from "../../scripts/monitoring/watch.ts";
import { type RuleCase, ruleCases } from "./rule-cases.ts";

const rulesFile = fileURLToPath(
  new URL("../../packages/dashboard/monitoring/rules.yml", import.meta.url),
);
const run = promisify(execFile);
const dayMin = 1_440;
const testWithPromtool = testWith(missingProgram("promtool", "prometheus"));

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rules-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("each alert has a case in which it fires, and one in which it does not", () => {
  const idOf = ({ alert, severity }: Pick<RuleCase, "alert" | "severity">) =>
    `${alert} ${severity}`;
  const wanted = rules.map(idOf).sort();
  for (const fires of [true, false]) {
    const found = ruleCases.filter((one) => one.fires === fires).map(idOf);
    expect([...new Set(found)].sort()).toEqual(wanted);
  }
});

testWithPromtool("promtool finds nothing wrong with the rules", async () => {
  const { stdout } = await run("promtool", ["check", "rules", rulesFile]);
  expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
});

describe.each([
  { title: "minutes", stepMin: 1, cases: ruleCases.filter(({ atMin }) => atMin < dayMin) },
  { title: "days", stepMin: 30, cases: ruleCases.filter(({ atMin }) => atMin >= dayMin) },
])("each alert fires when it should, and only then,", ({ title, stepMin, cases }) => {
  testWithPromtool(`after ${title}`, async () => {
    const tests = cases.map(({ alert, severity, when, series, atMin, fires }) => ({
      name: `${alert} ${severity}: ${when}`,
      interval: `${stepMin}m`,
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alert}",severity="${severity}",alertstate="firing"}) or vector(0)`,
          eval_time: `${atMin}m`,
          exp_samples: [{ labels: "{}", value: fires ? 1 : 0 }],
        },
      ],
    }));
    // JSON is YAML.
    const file = join(folder, `${title}.json`);
    const given = { rule_files: [rulesFile], evaluation_interval: `${stepMin}m`, tests };
    await writeFile(file, JSON.stringify(given));
    const { stdout } = await run("promtool", ["test", "rules", file]);
    expect(stdout).toContain("SUCCESS");
  });
});
