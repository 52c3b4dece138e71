import { execFileSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { missingForShim, testWith } from "@reporthook/test-support/needs";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { expect } from "vitest";
import { stored } from "./serve.ts";

const root = temporaryFolder();
const test = testWith(missingForShim());

const run = (program: string, ...args: string[]): void => {
  execFileSync(program, args);
};

const backUp = `
import { sqliteInbox } from "@reporthook/sqlite";
const inbox = sqliteInbox(process.argv[1]);
await inbox.open();
await inbox.backup(process.argv[2]);
await inbox.close();
`;

/** Makes a backup where the file system refuses this call. */
function backUpWithout(call: "link" | "rename", copy: string): void {
  const shim = join(root, `no-${call}.so`);
  const source = join(root, `no-${call}.c`);
  const refused = "(const char *from, const char *to) { errno = EPERM; return -1; }";
  writeFileSync(source, `#include <errno.h>\nint ${call}${refused}\n`);
  run("gcc", "-shared", "-fPIC", "-o", shim, source);
  const node = ["--conditions=@reporthook/source", "--import", "tsx", "--input-type=module"];
  const args = [...node, "-e", backUp, "--", join(root, "inbox.db"), copy];
  run("env", `LD_PRELOAD=${shim}`, process.execPath, ...args);
}

test("a backup is made on a file system without hard links, as those of networks and sticks", async () => {
  const copy = join(root, "copy.db");
  backUpWithout("link", copy);
  expect(stored(copy).size).toBe(0);
});

test("a backup that can't get its name leaves no file, which a next one would refuse to overwrite", async () => {
  const copy = join(root, "unnamed.db");
  expect(() => backUpWithout("rename", copy)).toThrow("can't be copied to");
  expect(readdirSync(root).filter((name) => name.startsWith("unnamed.db"))).toEqual([]);
});
