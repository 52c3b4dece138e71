import {
  mkdtempSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileGuard } from "./file-guard.ts";

const longMs = 10_000;
let folder: string;
let path: string;
let log: string;
let now: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reporthook-file-"));
  path = join(folder, "inbox.db");
  log = `${path}-wal`;
  for (const each of [path, log]) writeFileSync(each, "full");
  now = 0;
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** One that has been open for long, in a folder that was left alone. */
function settled(): FileGuard {
  const file = new FileGuard(path, () => now);
  file.check();
  now += longMs;
  file.check();
  return file;
}

function replace(name: string): void {
  writeFileSync(`${name}.new`, "full");
  renameSync(`${name}.new`, name);
}

function inPlaceOf(name: string): void {
  renameSync(name, `${name}-gone`);
  writeFileSync(name, "");
}

function loopInPlaceOf(name: string): void {
  renameSync(name, `${name}-gone`);
  symlinkSync(name, name);
}

describe("FileGuard", () => {
  it.each([
    ["the file is deleted", () => unlinkSync(path), "inbox.db was deleted"],
    ["the log is deleted", () => unlinkSync(log), "inbox.db-wal was deleted"],
    ["the file is replaced", () => replace(path), "inbox.db was replaced"],
    ["the log is replaced", () => replace(log), "inbox.db-wal was replaced"],
    ["the file is emptied", () => truncateSync(path), "inbox.db was emptied"],
    ["a file is in the folder's place", () => inPlaceOf(folder), "inbox.db was deleted"],
    ["a loop is in the folder's place", () => loopInPlaceOf(folder), "open (Error: ELOOP"],
    ["the folder is moved", () => renameSync(folder, `${folder}-gone`), "inbox.db was deleted"],
  ])("check() throws once %s, and again as long as it is so", (_what, change, message) => {
    const file = settled();
    change();
    for (let i = 0; i < 3; i++) {
      expect(() => file.check()).toThrow(message);
      now += longMs;
    }
    rmSync(`${folder}-gone`, { recursive: true, force: true });
  });

  it("check() is content with the very same files put back, and with others beside them", () => {
    const file = settled();
    renameSync(log, `${log}.away`);
    expect(() => file.check()).toThrow("was deleted");
    renameSync(`${log}.away`, log);
    writeFileSync(join(folder, "another"), "");
    file.check();
  });

  it("check() notices a log that was restored together with the folder's time", () => {
    const file = settled();
    const { atime, mtime } = statSync(folder);
    replace(log);
    utimesSync(folder, atime, mtime);
    expect(() => file.check()).toThrow("was replaced");
  });

  it("check() looks at the log as long as another change of the folder may bear the same time", () => {
    // A file system that counts in seconds, or days.
    const coarse = (at: string): Stats | undefined => {
      const seen = statSync(at, { throwIfNoEntry: false });
      return seen && Object.assign(seen, { mtimeMs: 0, ctimeMs: 0 });
    };
    for (const laterMs of [0, 2_000, longMs]) {
      const file = new FileGuard(path, () => now, coarse);
      file.check();
      replace(log);
      now += laterMs;
      expect(() => file.check()).toThrow("was replaced");
    }
    // And then no more, which is what makes it cheap.
    const file = new FileGuard(path, () => now, coarse);
    file.check();
    now += longMs;
    file.check();
    replace(log);
    file.check();
  });
});
