import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { missingProgram, testWith } from "@reporthook/test-support/needs";
import { expect } from "vitest";

const cases = fileURLToPath(new URL("rules.test.yml", import.meta.url));

testWith(missingProgram("promtool", "prometheus"))(
  "the rules fire for each problem, and for one app or all that are gone, as promtool finds",
  async () => {
    // It fails with what promtool says.
    const { stdout } = await promisify(execFile)("promtool", ["test", "rules", cases]);
    expect(stdout).toContain("SUCCESS");
  },
);
