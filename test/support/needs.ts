import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, type TestFunction, test } from "vitest";

/** Whether this is `pnpm test`, which leaves out what takes long. */
export const isQuick: boolean = process.env["TEST_LANE"] === "quick";

/** Whether `pnpm test` has run, and this is what `pnpm check` runs after it. */
export const isRest: boolean = process.env["TEST_LANE"] === "rest";

/** Whether this is `pnpm check`, which leaves to `pnpm test:all` what takes longest: CI runs that beside it. */
export const inCheck: boolean = isQuick || isRest;

/** Whether the machine must have all that tests need: in CI, where `pnpm check` runs them, also those of `pnpm test`. */
export const needsAll: boolean =
  Boolean(process.env["CI"]) && (!isQuick || process.env["npm_lifecycle_event"] === "check");

/** Tests that need something of the machine: elsewhere they are skipped and say why, or fail where nothing may be skipped. Times in milliseconds. */
export function testWith(
  missing: string | null,
): (name: string, run: () => Promise<void>, timeout?: number) => void {
  return (name, run, timeout) => {
    const whereItCan: TestFunction = (context) => {
      if (missing === null) return run();
      if (needsAll) throw new Error(missing);
      return context.skip(missing);
    };
    test(name, whereItCan, timeout);
  };
}

/** The same for all tests of a topic; one stands for them where it can't run them. */
export function describeWith(missing: string | null): (title: string, tests: () => void) => void {
  return (title, tests) => {
    if (missing === null) describe(title, tests);
    else testWith(missing)(title, async () => {});
  };
}

/** Says that a program is not here and which packages of Debian have it, or null. */
export function missingProgram(name: string, packages: string = name): string | null {
  const { error } = spawnSync(name, ["--version"]);
  return error === undefined ? null : `no ${name} here: apt-get install ${packages}`;
}

/** The tool that is missing to stand between SQLite and the C library, or null. */
export function missingForShim(): string | null {
  if (process.platform !== "linux") return "LD_PRELOAD needs Linux";
  return missingProgram("gcc", "gcc libc6-dev");
}

/** The tool that is missing to mount file systems, or null. */
export function missingForMounts(): string | null {
  if (process.platform !== "linux") return "tmpfs needs Linux";
  const [, capabilities = "0"] =
    /^CapEff:\s*(\w+)/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  const mayMount = (BigInt(`0x${capabilities}`) & sysAdmin) !== 0n;
  return mayMount ? null : "mounting needs root with CAP_SYS_ADMIN";
}

// CAP_SYS_ADMIN, which root lacks in most containers.
const sysAdmin = 1n << 21n;

/** Runs a program of the machine; throws when it is not there or fails. */
export function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: "ignore" });
}
