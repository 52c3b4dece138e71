import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { missingForMounts, run, testWith } from "@reporthook/test-support/needs";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type Database, loadDriver } from "./driver.ts";
import { FileContent } from "./file-content.ts";
import { FileGuard } from "./file-guard.ts";
import { LogContent } from "./log-content.ts";
import { checkPlace } from "./place.ts";
import { prepareSchema } from "./schema.ts";

const longMs = 10_000;
let folder: string;
let path: string;
let log: string;
let index: string;
let now: number;

beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, "inbox.db");
  log = `${path}-wal`;
  index = `${path}-shm`;
  for (const each of [path, log, index]) writeFileSync(each, "full");
  now = 0;
});

/** One that has been open for long, in a folder that was left alone. */
function settled(): FileGuard {
  const file = new FileGuard(path, null, () => now);
  file.check();
  now += longMs;
  file.check();
  return file;
}

function replace(name: string): void {
  writeFileSync(`${name}.new`, "full");
  renameSync(`${name}.new`, name);
}

function linkInPlaceOf(name: string): void {
  renameSync(name, `${name}-gone`);
  symlinkSync(`${name}-gone`, name);
}

function inPlaceOf(name: string): void {
  renameSync(name, `${name}-gone`);
  writeFileSync(name, "");
}

function loopInPlaceOf(name: string): void {
  renameSync(name, `${name}-gone`);
  symlinkSync(name, name);
}

describe("a replaced file", () => {
  it.each([
    ["the file is deleted", () => unlinkSync(path), "inbox.db was deleted"],
    ["the log is deleted", () => unlinkSync(log), "inbox.db-wal was deleted"],
    ["the file is replaced", () => replace(path), "inbox.db was replaced"],
    ["the log is replaced", () => replace(log), "inbox.db-wal was replaced"],
    ["the index is deleted", () => unlinkSync(index), "inbox.db-shm was deleted"],
    ["the index is replaced", () => replace(index), "inbox.db-shm was replaced"],
    ["a link is in the file's place", () => linkInPlaceOf(path), "inbox.db was replaced"],
    ["a file is in the folder's place", () => inPlaceOf(folder), "inbox.db was out of reach"],
    [
      "a loop is in the folder's place",
      () => loopInPlaceOf(folder),
      "of reach while it was open (E",
    ],
    ["the folder is moved", () => renameSync(folder, `${folder}-gone`), "inbox.db was deleted"],
  ])("FileGuard.check() throws as long as %s", (_what, change, message) => {
    const file = settled();
    change();
    for (let i = 0; i < 3; i++) {
      expect(() => file.check()).toThrow(message);
      now += longMs;
    }
    rmSync(`${folder}-gone`, { recursive: true, force: true });
  });

  it("FileGuard.check() takes a log that can't be looked at for a moment for no damage, also after a checkpoint", () => {
    let isAway = false;
    const failing = (at: string): Stats | undefined => {
      if (isAway && at === log) throw new Error("EIO: i/o error, lstat");
      return statSync(at, { throwIfNoEntry: false });
    };
    const file = new FileGuard(path, null, () => now, failing);
    file.check();
    isAway = true;
    appendFileSync(path, "a checkpoint");
    expect(() => file.check()).toThrow(
      "inbox.db-wal was out of reach while it was open (Error: EIO",
    );
    isAway = false;
    file.check();
    expect(file.damage).toBeNull();
  });

  it("FileGuard.check() is content with the very same files put back, and with others beside them", () => {
    const file = settled();
    renameSync(log, `${log}.away`);
    expect(() => file.check()).toThrow("was deleted");
    renameSync(`${log}.away`, log);
    writeFileSync(join(folder, "another"), "");
    file.check();
  });

  it("FileGuard.check() sees changes of the log in a folder that a link leads to", () => {
    const file = settled();
    linkInPlaceOf(folder);
    onTestFinished(() => rmSync(`${folder}-gone`, { recursive: true }));
    for (let i = 0; i < 3; i++) {
      file.check();
      now += longMs;
    }
    unlinkSync(log);
    expect(() => file.check()).toThrow("inbox.db-wal was deleted");
  });

  it("FileGuard.check() notices a log that was restored together with the folder's time", () => {
    const file = settled();
    const { atime, mtime } = statSync(folder);
    replace(log);
    utimesSync(folder, atime, mtime);
    expect(() => file.check()).toThrow("was replaced");
  });

  it("FileGuard.check() looks at the log as long as another change of the folder may bear the same time", () => {
    // A file system that counts in seconds, or days.
    const coarse = (at: string): Stats | undefined => {
      const seen = statSync(at, { throwIfNoEntry: false });
      return seen && Object.assign(seen, { mtimeMs: 0, ctimeMs: 0 });
    };
    const file = (): FileGuard => new FileGuard(path, null, () => now, coarse);
    for (const laterMs of [0, 2_000, longMs]) {
      const one = file();
      one.check();
      replace(log);
      now += laterMs;
      expect(() => one.check()).toThrow("was replaced");
      for (const end of ["", "-wal", "-shm"]) renameSync(`${path}-damaged${end}`, path + end);
    }
    // And then no more, which is what makes it cheap.
    const one = file();
    one.check();
    now += longMs;
    one.check();
    replace(log);
    one.check();
  });
});

describe("a file of SQLite", () => {
  let database: Database;
  let file: FileGuard;

  const add = (): unknown => database.exec("INSERT INTO numbers VALUES (1)");
  const numbersIn = (from: Database): unknown =>
    from.prepare("SELECT count(*) AS numbers FROM numbers").get()?.["numbers"];

  beforeEach(() => {
    for (const each of [path, log, index]) unlinkSync(each);
    database = loadDriver().open(path);
    onTestFinished(() => database.close());
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE numbers (number)");
    add();
    file = new FileGuard(path, null, () => now);
    file.check();
  });

  /** The numbers that a restart would find in a file alone, without its log. */
  function numbersAt(place: string): unknown {
    const copy = join(folder, "copy.db");
    copyFileSync(place, copy);
    const found = loadDriver().open(copy);
    onTestFinished(() => found.close());
    return numbersIn(found);
  }

  it.each([
    ["the file was moved", () => renameSync(path, `${path}-gone`), "-gone"],
    ["a link is in its place", () => linkInPlaceOf(path), "-gone"],
    ["the log was deleted", () => unlinkSync(log), ""],
    ["the index was deleted", () => unlinkSync(index), ""],
  ])("FileGuard.save() writes the log into the file when %s", (_what, change, end) => {
    change();
    const wayOut =
      end === "" ? /back, or restart the app$/ : /back\. .*copy it before you end the app/;
    expect(() => file.check()).toThrow(wayOut);
    file.save(database);
    expect(numbersAt(`${path}${end}`)).toBe(1);
  });

  it.each([
    ["the log was replaced", () => replace(log)],
    ["the index was replaced", () => replace(index)],
    [
      "another file was written over it, without the log",
      () => {
        appendFileSync(path, "of another");
        unlinkSync(log);
      },
    ],
  ])("FileGuard.save() overwrites nothing when %s", (_what, change) => {
    change();
    const before = readFileSync(path);
    for (let i = 0; i < 3; i++) {
      expect(() => file.check()).toThrow(
        /nothing is written to it any more\. Restart the app, which checks it/,
      );
      file.save(database);
    }
    expect(readFileSync(`${path}-damaged`)).toEqual(before);
  });

  it("FileGuard.save() knows its own writes and those of SQLite", () => {
    add();
    database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    file.check();
    unlinkSync(log);
    for (let i = 0; i < 3; i++) {
      expect(() => file.check()).toThrow(/put the file back, or restart the app/);
      file.save(database);
    }
    expect(numbersAt(path)).toBe(2);
  });
});

describe("a file that another process has closed as the last one", () => {
  const driver = loadDriver();
  const others = `
    const { Database, DatabaseSync } = { Database: undefined, ...require(process.argv[1]) };
    const Of = DatabaseSync ?? Database ?? require(process.argv[1]);
    const one = new Of(process.argv[2]);
    one.exec("INSERT INTO receiver (name) VALUES ('one')");
    one.close();
  `;

  /** Copies the file as an app may do, and has another process write to it and close it. */
  function leave(): void {
    closeSync(openSync(path, "r"));
    spawnSync(process.execPath, ["-e", others, driver.module, path]);
  }

  /** The names of receivers that a restart finds, after `end`, and `act` on the guard. */
  function namesAfter(
    act: (guard: FileGuard, database: Database) => void,
    end = leave,
    Log = LogContent,
  ) {
    for (const each of [path, log, index]) unlinkSync(each);
    const [database, reader] = [driver.open(path), driver.open(path)];
    prepareSchema(database, path, true);
    database.exec("PRAGMA journal_mode = WAL; INSERT INTO receiver (name) VALUES ('first')");
    const descriptor = openSync(path, "r");
    const file = new FileContent(database, descriptor, reader, true);
    const guard = new FileGuard(path, { file, log: new Log(path) });
    guard.check();
    end();
    act(guard, database);
    for (const each of [reader, database]) each.close();
    guard.close();
    closeSync(descriptor);
    const found = driver.open(path);
    onTestFinished(() => found.close());
    return found.prepare("SELECT name FROM receiver ORDER BY name").all();
  }

  const leaves = (guard: FileGuard, database: Database): void => {
    expect(() => guard.check()).toThrow(
      /inbox\.db-(wal|shm) was deleted while it was open: it is opened/,
    );
    guard.save(database);
    expect([guard.isLeft, guard.damage]).toEqual([true, null]);
  };

  it("FileGuard.save() goes on until nobody reads the log, and only then FileGuard.isLeft says that it can be opened again", () => {
    const names = namesAfter(
      (guard, database) => {
        database.exec("PRAGMA busy_timeout = 0; INSERT INTO receiver (name) VALUES ('last')");
        // A connection that opened the file then would share the old index with this one.
        const reader = driver.open(path);
        reader.exec("BEGIN; SELECT name FROM receiver");
        for (const each of [log, index]) unlinkSync(each);
        expect(() => guard.check()).toThrow(/deleted/);
        guard.save(database);
        expect(guard.isLeft).toBe(false);
        reader.close();
        guard.save(database);
        expect(guard.isLeft).toBe(true);
      },
      () => {},
    );
    expect(names).toEqual(["first", "last"].map((name) => ({ name })));
  });

  it("FileGuard.isLeft says that it can be opened again: nothing is damaged", () => {
    expect(namesAfter(leaves)).toEqual([{ name: "first" }, { name: "one" }]);
  });

  it("FileGuard.check() looks again for the log while its index alone is deleted, as SQLite does it first", () => {
    class DeletedBetweenLooks extends LogContent {
      override isDeleted(): boolean {
        const isDeleted = super.isDeleted();
        rmSync(log, { force: true });
        return isDeleted;
      }
    }
    const names = namesAfter(leaves, () => unlinkSync(index), DeletedBetweenLooks);
    expect(names).toEqual([{ name: "first" }]);
  });

  it("FileGuard.save() adds to the file what was written after that", () => {
    const names = namesAfter((guard, database) => {
      database.exec("INSERT INTO receiver (name) VALUES ('last')");
      leaves(guard, database);
    });
    expect(names).toEqual(["first", "last", "one"].map((name) => ({ name })));
  });
});

describe("places", () => {
  it("checkPlace() refuses a file with a second name, where its log would not be found", () => {
    linkSync(path, join(folder, "second.db"));
    expect(() => checkPlace(path)).toThrow(
      expect.objectContaining({
        code: "inbox_failed",
        message: expect.stringMatching(/inbox\.db has 2 names \(hard links\).*-samefile/),
      }),
    );
    unlinkSync(join(folder, "second.db"));
    checkPlace(path);
  });

  it("checkPlace() leaves a path that is no file to SQLite", () => {
    checkPlace(folder);
    checkPlace(join(folder, "missing"));
    checkPlace(join(path, "in a file"));
  });

  testWith(missingForMounts())("checkPlace() refuses a file that is mounted alone", async () => {
    const place = join(folder, "a place");
    const mounted = join(place, "inbox.db");
    mkdirSync(place);
    run("mount", "-t", "tmpfs", "tmpfs", place);
    try {
      for (const each of [mounted, `${mounted}-wal`]) writeFileSync(each, "");
      run("mount", "--bind", mounted, mounted);
      checkPlace(mounted);
      run("mount", "--bind", path, mounted);
      expect(() => checkPlace(mounted)).toThrow(/inbox.db is mounted.* mount its folder instead/);
      run("mount", "--bind", log, `${mounted}-wal`);
      checkPlace(mounted);
    } finally {
      run("umount", "--lazy", place);
    }
  });
});
