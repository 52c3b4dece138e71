import { closeSync, copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { threadFile } from "../product/product.ts";
import type { Modules } from "../product/realm.ts";
import type { Chance } from "./chance.ts";
import type { Owner } from "./time.ts";

interface Statement {
  run(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
}

interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): void;
}

/** The fault of the disk: none, no room, another process' lock, or now and then an error. */
export type DiskMode = "ok" | "full" | "locked" | "failing";

/** Something to be done at a call of the disk: after so many, before or after the call has its effect. */
export interface Trap {
  calls: number;
  readonly when: "before" | "after";
  readonly spring: (thread: Owner) => void;
}

const libsqlFile = createRequire(threadFile).resolve("libsql");
const libsql = createRequire(threadFile)(libsqlFile) as new (path: string) => Database;
/** The files that the product's processes hold open: a process of a world that crashes closes none. */
const held = new Map<string, { readonly descriptor: number }>();
Object.assign(globalThis, { [Symbol.for("reporthook.files")]: held });
const memory = "/dev/shm";
const lockedMs = 3_000;

/**
 * The disk of a world: real SQLite files, in memory where there is such a folder. Written bytes survive the end of their
 * process; synced bytes survive a power cut.
 */
export class Disk {
  mode: DiskMode = "ok";
  /** How long each transaction takes, in milliseconds. */
  slowMs = 0;
  trap: Trap | null = null;
  readonly #folder = newFolder();
  readonly #chance: Chance;
  readonly #open = new Set<Opened>();
  #images = 0;
  #tookMs = 0;
  #isUnsynced = false;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** Where the inbox file is. */
  get path(): string {
    return join(this.#folder, `inbox-${this.#images}.db`);
  }

  /** How long the disk has worked since this was asked last, in milliseconds. */
  took(): number {
    const ms = this.#tookMs;
    this.#tookMs = 0;
    return ms;
  }

  /** The modules of a thread, which finds its SQLite through them. */
  modulesOf(thread: Owner): Modules {
    const open = (path: string): Database => {
      const opened = new Opened(new libsql(path), thread);
      this.#open.add(opened);
      return this.#faulty(opened);
    };
    // Called with `new`, which gives what it returns.
    function Database(path: string): Database {
      return open(path);
    }
    const createRequireHere = (from: string) => (file: string) =>
      file === libsqlFile ? Database : createRequire(from)(file);
    return { "node:module": { createRequire: createRequireHere } };
  }

  /** The machine has lost its power: what is found later, at a new {@link path}, is what was synced. */
  cut(): void {
    const from = this.#isUnsynced ? join(this.#folder, "synced.db") : this.path;
    this.#images++;
    copy(from, this.path);
    this.#isUnsynced = false;
  }

  /** Closes the files of threads that are gone, and so undoes their open transactions. */
  closeGone(): void {
    for (const opened of this.#open) {
      if (opened.thread.alive) continue;
      this.#open.delete(opened);
      opened.end();
    }
  }

  end(): void {
    for (const opened of this.#open) opened.end();
    for (const { descriptor } of held.values()) closeSync(descriptor);
    held.clear();
    rmSync(this.#folder, { recursive: true });
  }

  #faulty(opened: Opened): Database {
    const { real } = opened;
    return {
      exec: (sql) => this.#call(opened, sql, () => this.#exec(opened, sql)),
      prepare: (sql) => {
        const statement = this.#call(opened, "", () => real.prepare(sql));
        return {
          run: (...values) => this.#call(opened, sql, () => statement.run(...values)),
          all: (...values) => this.#call(opened, sql, () => statement.all(...values)),
        };
      },
      close: () => {
        opened.assertThere();
        this.#open.delete(opened);
        opened.end();
      },
    };
  }

  #call<T>(opened: Opened, sql: string, run: () => T): T {
    opened.assertThere();
    const { trap } = this;
    const springs = trap !== null && --trap.calls < 0;
    if (springs) this.trap = null;
    if (springs && trap.when === "before") trap.spring(opened.thread);
    opened.assertThere();
    this.#fail(opened, sql);
    const result = run();
    if (springs && trap.when === "after") trap.spring(opened.thread);
    opened.assertThere();
    return result;
  }

  /** The disk of the world does the syncing: real syncs would only take time. */
  #exec(opened: Opened, sql: string): unknown {
    const level = /synchronous\s*=\s*(\w+)/.exec(sql)?.[1];
    if (level !== undefined) opened.syncs = level === "FULL";
    if (sql === "COMMIT") {
      this.#tookMs += this.slowMs;
      if (!opened.syncs && !this.#isUnsynced) {
        copy(this.path, join(this.#folder, "synced.db"));
        this.#isUnsynced = true;
      }
    }
    return opened.real.exec(sql.replace(/synchronous\s*=\s*\w+/, "synchronous = OFF"));
  }

  #fail(opened: Opened, sql: string): void {
    const writes = /^(INSERT|UPDATE|DELETE|COMMIT)/.test(sql);
    if (this.mode === "locked" && sql.startsWith("BEGIN")) {
      this.#tookMs += lockedMs;
      throw sqliteError("SQLITE_BUSY", 5);
    }
    const isFull = this.mode === "full" && writes;
    const fails = this.mode === "failing" && writes && this.#chance.yes(5);
    if (!isFull && !fails) return;
    // SQLite may have rolled back by then, and may not.
    if (sql === "COMMIT" || this.#chance.yes(50)) opened.rollBack();
    throw isFull ? sqliteError("SQLITE_FULL", 13) : sqliteError("SQLITE_IOERR", 10);
  }
}

class Opened {
  readonly real: Database;
  readonly thread: Owner;
  syncs = true;

  constructor(real: Database, thread: Owner) {
    this.real = real;
    this.thread = thread;
  }

  assertThere(): void {
    if (!this.thread.alive) throw new Error("The thread is gone");
  }

  rollBack(): void {
    try {
      this.real.exec("ROLLBACK");
    } catch {
      // There was no transaction.
    }
  }

  end(): void {
    this.rollBack();
    this.real.close();
  }
}

/** One in memory, unless there is none or nobody else may write there. */
function newFolder(): string {
  const name = "reporthook-world-";
  try {
    return mkdtempSync(join(memory, name));
  } catch {
    return mkdtempSync(join(tmpdir(), name));
  }
}

function copy(from: string, to: string): void {
  for (const suffix of ["", "-wal"]) {
    rmSync(to + suffix, { force: true });
    if (existsSync(from + suffix)) copyFileSync(from + suffix, to + suffix);
  }
}

function sqliteError(code: string, rawCode: number): Error {
  return Object.assign(new Error(`${code} in this world`), { code, rawCode });
}
