import { readSync } from "node:fs";
import type { Database } from "./driver.ts";

/** "rhnb", so that the file of another application is not mistaken for an inbox. */
export const applicationId = 0x72686e62;

/** The bits of `user_version` that number the schema; those above them are the mark. */
const schemaBits = 9;
/** The number of marks. */
export const marks: number = 2 ** (32 - schemaBits);
const magic = "SQLite format 3\0";
/** The size of the header, in bytes. */
export const headerBytes = 100;
const formatAt = 18;
const schemaChangeAt = 40;
const versionAt = 60;
const applicationAt = 68;
/** Of a file whose log is a WAL. */
const walFormat = 0x0202;
const looks = 3;
const betweenLooksMs = 5;

/** The header of an inbox file. */
export interface FileHeader {
  /** Only grows: see {@link FileContent}. */
  readonly mark: number;
  /** The number of the last change of the schema; `VACUUM` counts as one. */
  readonly schemaChange: number;
}

/** The header of the file with this descriptor; null if this is no inbox file in use. */
export function readHeader(descriptor: number): FileHeader | null {
  const bytes = Buffer.alloc(headerBytes);
  return headerIn(bytes.subarray(0, readSync(descriptor, bytes, 0, headerBytes, 0)));
}

/** The same of the first bytes of a file. */
export function headerIn(bytes: Buffer): FileHeader | null {
  const isFile = bytes.length === headerBytes && bytes.toString("latin1", 0, 16) === magic;
  if (!isFile || bytes.readUInt16BE(formatAt) !== walFormat) return null;
  if (bytes.readUInt32BE(applicationAt) !== applicationId) return null;
  const mark = markIn(bytes.readUInt32BE(versionAt));
  return { mark, schemaChange: bytes.readUInt32BE(schemaChangeAt) };
}

/** The mark in a `user_version`. */
export function markIn(userVersion: number): number {
  return userVersion >>> schemaBits;
}

/** The version of the schema in a `user_version`. */
export function schemaIn(userVersion: number): number {
  return userVersion & (2 ** schemaBits - 1);
}

/** Writes a mark, which begins again at 0 after the last one, into the header with the version of the schema, and into its table. */
export function writeMark(database: Database, mark: number, schema: number): void {
  database.exec(`PRAGMA user_version = ${(mark << schemaBits) | schema}`);
  database.exec(`UPDATE ${tableOf(mark)} SET mark = '${textOf(mark)}'`);
}

/** The mark before this one, as a file has it in its table: in a page that the checkpoint of this one did not write; null if it has none. */
export function markBefore(database: Database, descriptor: number, mark: number): number | null {
  const row = database.prepare(placeOfTable).get(tableOf(mark - 1));
  const [page, bytes] = [Number(row?.["page"]), Number(row?.["bytes"])];
  const content = Buffer.alloc(bytes);
  readSync(descriptor, content, 0, bytes, (page - 1) * bytes);
  const [, found] = /mark (\d{7})/.exec(content.toString("latin1")) ?? [];
  return found === undefined ? null : Number(found);
}

function tableOf(mark: number): string {
  return mark % 2 === 0 ? "even_mark" : "odd_mark";
}

/** The text is as long for each, and stands in one piece in its page. */
function textOf(mark: number): string {
  return `mark ${String((mark + marks) % marks).padStart(7, "0")}`;
}

const placeOfTable =
  "SELECT rootpage AS page, (SELECT page_size FROM pragma_page_size) AS bytes FROM sqlite_master WHERE name = ?";

/** Whether a mark is one of those from `first` to `last`. */
export function isBetween(mark: number, first: number, last: number): boolean {
  const steps = (to: number): number => (to - first + marks) % marks;
  return steps(mark) <= steps(last) && steps(last) < marks / 2;
}

/** The problem that a look finds, or null; looks again for a moment before it tells one: another process may be writing. */
export function lookAgain(look: () => string | null): string | null {
  for (let left = looks; ; left--) {
    const problem = look();
    if (problem === null || left === 1) return problem;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, betweenLooksMs);
  }
}
