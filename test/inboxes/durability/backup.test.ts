import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
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

test("a backup is made on a file system without hard links, as those of networks and sticks", async () => {
  const shim = join(root, "no-links.so");
  const source = join(root, "no-links.c");
  const refused = "(const char *from, const char *to) { errno = EPERM; return -1; }";
  writeFileSync(source, `#include <errno.h>\nint link${refused}\n`);
  run("gcc", "-shared", "-fPIC", "-o", shim, source);
  const copy = join(root, "copy.db");
  const node = ["--conditions=@reporthook/source", "--import", "tsx", "--input-type=module"];
  const args = [...node, "-e", backUp, "--", join(root, "inbox.db"), copy];
  run("env", `LD_PRELOAD=${shim}`, process.execPath, ...args);
  expect(stored(copy).size).toBe(0);
});
