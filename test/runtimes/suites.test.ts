import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { evidence } from "@reporthook/test-support/evidence";
import { afterAll, describe, expect, test } from "vitest";
import type { SuiteReport } from "./programs/suite.ts";
import { type Runtime, runtimes, type Suite } from "./runtimes.ts";
import { writtenTable } from "./table.ts";
import { runWorker } from "./workerd.ts";

const program = fileURLToPath(new URL("dist/on-server.js", import.meta.url));
const held: [Runtime, Suite][] = [];

async function report({ command, kind }: Runtime, suite: Suite): Promise<SuiteReport> {
  if (kind === "worker") {
    const worker = await runWorker(command, "on-workerd.js");
    try {
      return (await (await fetch(`${worker.url}/${suite}`)).json()) as SuiteReport;
    } finally {
      await worker.end();
    }
  }
  const [file, ...args] = command;
  const { stdout } = await promisify(execFile)(file, [...args, program, suite]);
  return JSON.parse(stdout) as SuiteReport;
}

describe.concurrent.each(runtimes)("$name", (runtime) => {
  test.each(runtime.suites)("the suite %s passes", async (suite) => {
    const { passed, skipped, failed } = await report(runtime, suite);
    evidence("runtimes", { suites: 1, tests: passed }, { failed: failed.length }, runtime.name);
    expect(failed).toEqual([]);
    expect(passed).toBeGreaterThan(skipped.length * 3);
    held.push([runtime, suite]);
  });
});

afterAll(async () => {
  // Only what was held in this run, so not for a part of it.
  if (held.length < runtimes.flatMap(({ suites }) => suites).length) return;
  const write = process.env["CI"] === undefined;
  const { before, after } = await writtenTable(held, { write });
  if (!write) expect(before).toBe(after);
});
