import { resolve } from "node:path";
import { ReporthookError } from "@reporthook/core";
import { findInstalled, type Installed, loadFile, placesOfModules } from "./installed.ts";

/** A value of a column. Whole numbers up to 2^53 are stored as integers; text must have no NUL and no lone surrogates. */
export type Value = string | number | null | Uint8Array;

/** A row by column names. */
export type Row = Record<string, Value>;

/**
 * A prepared statement with one `?` for each value: `?1` and names don't work in every driver, and for a missing value libsql
 * uses the one of the last call.
 */
export interface Statement {
  /** Executes a statement that returns no rows. */
  run(...values: Value[]): { readonly changes: number | bigint };
  /** The first of the rows; the rest are read too, so say `LIMIT 1`. */
  get(...values: Value[]): Row | undefined;
  /** All rows. */
  all(...values: Value[]): Row[];
}

/** An open connection; drivers differ in their settings (synchronous, busy_timeout, foreign_keys), so set them. */
export interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): void;
}

/** Gives the statement with a text. */
export type Statements = (sql: string) => Statement;

/** One of the SQLite modules, behind one interface. */
export interface Driver {
  readonly name: string;
  /** Its file, or the name of a built-in module: {@link loadFound} takes it in another thread. */
  readonly module: string;
  /** Opens or creates the file; throws errors that `sqliteCode` understands. */
  open(path: string): Database;
}

/** The error of an inbox that can't be used, with the way out in its message. */
export function inboxFailed(message: string, cause?: unknown): ReporthookError {
  return new ReporthookError("inbox_failed", message, cause === undefined ? {} : { cause });
}

interface ForeignStatement {
  run(...values: unknown[]): { readonly changes: number | bigint };
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
}

type ForeignConstructor = new (
  path: string,
) => Omit<Database, "prepare"> & { prepare(sql: string): ForeignStatement };

/** The source of modules, replaceable in tests. */
export interface ModuleSource {
  /** The built-in module, or undefined where the runtime has none. */
  builtin(name: string): unknown;
  /** The installed module, or undefined. */
  installed(name: string): Installed | undefined;
}

const builtinName = "node:sqlite";
const installedName = "libsql";
/** Packages that this one is tested with. */
const tried: readonly string[] = [installedName, "better-sqlite3"];
const wayOut = `Use Node 22.13 or later, which has ${builtinName}, or run: npm install ${installedName}`;
const ways: Readonly<Record<string, string>> = {
  MODULE_NOT_FOUND: "Copy all of it, its native part too, or install it there",
  ERR_DLOPEN_DISABLED: "Start Node without --no-addons, or --permission with --allow-addons",
};

/**
 * The driver of that name (a built-in or installed module), or the best there is: `node:sqlite`, else `libsql`.
 *
 * @throws {ReporthookError} `inbox_failed`, when there is none; the message says what to install.
 * @throws {TypeError} when the name is not a module's name or the module is no such driver.
 */
export function loadDriver(name?: string, modules: ModuleSource = runtime): Driver {
  const nowhere = `from none of ${placesOfModules().join(", ")}`;
  if (name === undefined) {
    const driver = find(builtinName, modules) ?? find(installedName, modules);
    if (driver !== null) return driver;
    throw inboxFailed(
      `There is no SQLite in ${process.version}, and ${installedName} is found ${nowhere}. ${wayOut}`,
    );
  }
  if (typeof name !== "string" || name === "") {
    throw new TypeError(`The driver is the name of a module like "libsql", not ${String(name)}`);
  }
  const driver = find(name, modules);
  if (driver !== null) return driver;
  const missing = `The SQLite driver "${name}" is found ${nowhere}.`;
  throw inboxFailed(
    name.startsWith("node:")
      ? `There is no ${name} in ${process.version}. ${wayOut}`
      : tried.includes(name)
        ? `${missing} Run: npm install ${name}`
        : `${missing} Tried are ${builtinName}, ${tried.join(" and ")}; is ${name} the name of a package?`,
  );
}

/** Loads the `module` of a driver that another thread has found: this one looks for nothing. */
export function loadFound(module: string): Driver {
  const load = () => (module.startsWith("node:") ? builtin(module) : loadFile(module));
  return driverOf(module, module, load);
}

function find(name: string, modules: ModuleSource): Driver | null {
  if (name.startsWith("node:")) {
    const found = modules.builtin(name);
    return found === undefined ? null : driverOf(name, name, () => found);
  }
  const found = modules.installed(name);
  return found === undefined ? null : driverOf(name, found.file, found.load);
}

function driverOf(name: string, module: string, load: () => unknown): Driver {
  let loaded: unknown;
  try {
    loaded = load();
  } catch (cause) {
    const [reason] = String(cause instanceof Error ? cause.message : cause).split("\n");
    const { code = "" } = (cause ?? {}) as { readonly code?: string };
    const why = reason?.replace(/\.$/, "");
    throw inboxFailed(
      `The SQLite driver "${name}" is installed and can't be loaded: ${why}. ${ways[code] ?? wayOut}`,
      cause,
    );
  }
  const Foreign = constructorIn(loaded);
  if (Foreign === null) {
    throw new TypeError(`The module "${name}" exports no Database like that of better-sqlite3`);
  }
  const adapt = name === builtinName ? adaptBuiltin : adaptInstalled;
  return { name, module, open: (path) => open(Foreign, path, adapt) };
}

function constructorIn(module: unknown): ForeignConstructor | null {
  const { DatabaseSync, Database, default: other } = module as Record<string, unknown>;
  const found = [DatabaseSync, Database, other, module].find((each) => typeof each === "function");
  return (found as ForeignConstructor | undefined) ?? null;
}

function open(
  Foreign: ForeignConstructor,
  path: string,
  adapt: (statement: ForeignStatement) => Statement,
): Database {
  // An absolute path is never read as a URI, which "file:…" would be by some drivers.
  const database = new Foreign(path === ":memory:" ? path : resolve(path));
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => adapt(database.prepare(sql)),
    close: () => database.close(),
  };
}

function adaptBuiltin(statement: ForeignStatement): Statement {
  return {
    run: (...values) => statement.run(...values.map(bind)),
    get: (...values) => statement.get(...values.map(bind)) as Row | undefined,
    all: (...values) => statement.all(...values.map(bind)) as Row[],
  };
}

function adaptInstalled(statement: ForeignStatement): Statement {
  // In an array: libsql mistakes a single null or blob for a set of named values.
  const all = (values: readonly Value[]) => statement.all(values.map(bind)).map(plainRow);
  return {
    run: (...values) => statement.run(values.map(bind)),
    // libsql's own get() leaves the statement running, and with it the transaction.
    get: (...values) => all(values)[0],
    all: (...values) => all(values),
  };
}

/** Has each statement prepared once, by its text. */
export function preparedOnce(database: Database): Statements {
  const statements = new Map<string, Statement>();
  return (sql) => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
}

/** Ends a transaction without its changes; SQLite may have done so already, as it does on a full disk. */
export function rollBack(database: Pick<Database, "exec">): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // There was no transaction.
  }
}

function bind(value: Value): Value {
  if (typeof value === "string") return storable(value);
  if (typeof value === "number" || value === null || value instanceof Uint8Array) return value;
  // libsql ends the process on a boolean.
  throw new TypeError(`A column can't hold a value of type ${typeof value}`);
}

/** Makes text safe: some drivers cut it at NUL when reading, some write lone surrogates. */
function storable(text: string): string {
  const wellFormed = (text as string & { toWellFormed(): string }).toWellFormed();
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", "\ufffd") : wellFormed;
}

function plainRow(row: unknown): Row {
  const plain = row as Row;
  for (const name of Object.keys(plain)) plain[name] = plainValue(plain[name]);
  return plain;
}

function plainValue(value: unknown): Value {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (Buffer.isBuffer(value)) {
    return new Uint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength);
  }
  return value as Value;
}

const runtime: ModuleSource = { builtin, installed: findInstalled };

/** A built-in module, without the warning of Node 22 that its SQLite is experimental. */
function builtin(name: string): unknown {
  const { emitWarning } = process;
  process.emitWarning = ((warning: string | Error, ...rest: never[]) => {
    if (!String(warning).startsWith("SQLite is an experimental feature")) {
      emitWarning.call(process, warning, ...rest);
    }
  }) as typeof process.emitWarning;
  try {
    return process.getBuiltinModule?.(name);
  } finally {
    process.emitWarning = emitWarning;
  }
}
