import {
  mkdtempSync,
  renameSync,
  rmSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OpenFile } from "./file.ts";

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
function settled(): OpenFile {
  const file = new OpenFile(path, () => now);
  file.check();
  now += longMs;
  file.check();
  return file;
}

function replace(name: string): void {
  writeFileSync(`${name}.new`, "full");
  renameSync(`${name}.new`, name);
}

describe("OpenFile", () => {
  it.each([
    ["the file is deleted", () => unlinkSync(path), "inbox.db was deleted"],
    ["the log is deleted", () => unlinkSync(log), "inbox.db-wal was deleted"],
    ["the file is replaced", () => replace(path), "inbox.db was replaced"],
    ["the log is replaced", () => replace(log), "inbox.db-wal was replaced"],
    ["the file is emptied", () => truncateSync(path), "inbox.db was emptied"],
    ["the folder is moved", () => renameSync(folder, `${folder}-gone`), "inbox.db was deleted"],
  ])("check() throws once %s, and again as long as it is so", (_what, change, message) => {
    const file = settled();
    change();
    for (let i = 0; i < 3; i++) {
      expect(() => file.check()).toThrow(message);
      expect(file.isAmiss).toBe(true);
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
    expect(file.isAmiss).toBe(false);
  });

  it("check() looks at the log once the folder has changed, and for as long as another change may bear the same time", () => {
    const time = new Date(1_700_000_000_000);
    const inOneInstant = (change: () => void): void => {
      change();
      utimesSync(folder, time, time);
    };
    inOneInstant(() => {});
    const file = settled();
    // The bargain: what leaves the folder's time as it was is not seen. Only whoever sets it back does that.
    inOneInstant(() => replace(log));
    file.check();
    utimesSync(folder, time, new Date(1_700_000_001_000));
    expect(() => file.check()).toThrow("was replaced");

    const fresh = new OpenFile(path, () => now);
    inOneInstant(() => {});
    fresh.check();
    inOneInstant(() => replace(log));
    now += 2_000;
    expect(() => fresh.check()).toThrow("was replaced");
  });
});
