import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { alertDefaults } from "@reporthook/core/internals";
import { missingProgram, testWith } from "@reporthook/test-support/needs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anchorOf } from "../../site/markdown.ts";
import { ruleCases } from "./rule-cases.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const rulesFile = join(root, "packages/dashboard/monitoring/rules.yml");
const text = await readFile(rulesFile, "utf8");
const rules = [...text.matchAll(/- alert: (\w+)$.*?severity: (\w+) .*?runbook: '(.*?)'$/gms)].map(
  ([, alert = "", severity = "", runbook = ""]) => ({ alert, severity, runbook }),
);
const run = promisify(execFile);
const dayMin = 1_440;
const testWithPromtool = testWith(missingProgram("promtool", "prometheus"));

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rules-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("each alert has a case in which it fires, and another in which it does not", () => {
  const idOf = ({ alert, severity }: { alert: string; severity: string }) => `${alert} ${severity}`;
  const wanted = rules.map(idOf).sort();
  for (const fires of [true, false]) {
    const found = ruleCases.filter((one) => one.fires === fires).map(idOf);
    expect([...new Set(found)].sort()).toEqual(wanted);
  }
});

test("every runbook is a section of the documentation", async () => {
  expect(rules).toHaveLength(text.split("- alert:").length - 1);
  for (const { runbook } of rules) {
    const [file = "", anchor = ""] = runbook.split("#");
    const page = await readFile(join(root, file), "utf8");
    const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
    expect(headings, file).toContain(anchor);
  }
});

test("the warnings have the thresholds that alerts() has by default", () => {
  const { oldestWaitingMs, waiting, parked } = alertDefaults;
  expect(text).toContain(`(reporthook_deliveries_oldest_seconds) > ${oldestWaitingMs / 1_000}'`);
  expect(text).toContain(`(reporthook_deliveries_waiting)) > ${waiting}'`);
  expect(text).toContain(`>= ${parked}'`);
});

testWithPromtool("the rules have nothing wrong that promtool finds", async () => {
  const { stdout } = await run("promtool", ["check", "rules", rulesFile]);
  expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
});

describe.each([
  { title: "minutes", stepMin: 1, cases: ruleCases.filter(({ atMin }) => atMin < dayMin) },
  { title: "days", stepMin: 30, cases: ruleCases.filter(({ atMin }) => atMin >= dayMin) },
])("cases", ({ title, stepMin, cases }) => {
  testWithPromtool(`each alert fires when it should, and only then, after ${title}`, async () => {
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
