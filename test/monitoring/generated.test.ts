import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { grafanaFile } from "../../scripts/monitoring/grafana.ts";
import { rulesFile } from "../../scripts/monitoring/rules.ts";
import { withTable } from "../../scripts/monitoring/table.ts";
import { watches } from "../../scripts/monitoring/watch.ts";
import { anchorOf } from "../../site/markdown.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const monitoring = join(root, "packages/dashboard/monitoring");
const page = join(root, "docs/operating.md");

describe("pnpm monitoring has written what scripts/monitoring/watch.ts says:", () => {
  test("the table in docs/operating.md", async () => {
    await expect(withTable(readFileSync(page, "utf8"))).toMatchFileSnapshot(page);
  });

  test("the alert rules", async () => {
    await expect(rulesFile()).toMatchFileSnapshot(join(monitoring, "rules.yml"));
  });

  test("the Grafana dashboard", async () => {
    await expect(grafanaFile()).toMatchFileSnapshot(join(monitoring, "grafana.json"));
  });
});

test("every runbook is a section of the documentation", () => {
  for (const { runbook } of watches) {
    const [file = "", anchor = ""] = runbook.split("#");
    const text = readFileSync(join(root, file), "utf8");
    const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
    expect(headings, file).toContain(anchor);
  }
});
