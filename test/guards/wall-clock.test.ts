import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const packages = fileURLToPath(new URL("../../packages", import.meta.url));

/** The files that may look at the wall clock, each with its reason. All others go by lived time. */
const mayLook: Readonly<Record<string, string>> = {
  "core/src/lib/time/clock.ts": "the system's clock is made of it",
  "core/src/lib/time/running-time.ts": "it is compared with the time that runs",
  "core/src/client/service-failure.ts": "Retry-After may be a date",
  "bullmq/src/process/job-run.ts": "BullMQ says when it took up a job",
  "bullmq/src/process/settle.ts": "BullMQ counts delays from it",
  "bullmq/src/server/jobs.ts": "BullMQ says when a job ended",
  "bullmq/src/queues/lost-jobs.ts": "a lost record has no time",
  "emulator/src/lib/clock.ts": "it is compared with the time that runs",
};

/** The sources that decide by time, without tests and suites. */
const sources = ["core", "sqlite", "bullmq", "emulator"].flatMap((name) =>
  readdirSync(join(packages, name, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => /^(?!testing\/|.*\.(test|generated)\.).*\.ts$/.test(file))
    .map((file) => `${name}/src/${file}`),
);

function looksAtWallClock(file: string): boolean {
  const code = readFileSync(join(packages, file), "utf8");
  return /\bDate\.now\b|new Date\(\)/.test(code.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, ""));
}

it("no file but a few looks at the wall clock: nobody else compares dates to decide", () => {
  expect(sources.length).toBeGreaterThan(150);
  expect(sources.filter(looksAtWallClock).sort()).toEqual(Object.keys(mayLook).sort());
});
