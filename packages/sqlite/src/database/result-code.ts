/** The names of SQLite's result codes, in their order. */
const codes = (
  "OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL " +
  "CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB"
).split(" ");
const canNotOpen = codes.indexOf("CANTOPEN");

/** SQLite's primary result code (5 BUSY, 8 READONLY, 10 IOERR, 11 CORRUPT, 13 FULL, 14 CANTOPEN, 26 NOTADB …), or null. */
export function sqliteCode(error: unknown): number | null {
  if (typeof error !== "object" || error === null) return null;
  const { errcode, rawCode, code, message } = error as Record<string, unknown>;
  for (const extended of [errcode, rawCode]) {
    if (typeof extended === "number") return extended & 0xff;
  }
  const named = typeof code === "string" ? /^SQLITE_([A-Z]+)/.exec(code)?.[1] : undefined;
  if (named !== undefined) return codes.includes(named) ? codes.indexOf(named) : null;
  // A file that can't be opened has no code in libsql; without its folder none in better-sqlite3 either.
  const unopened = /^ConnectionFailed\(.*: (\d+)"\)$|^Cannot open database because the directory/s;
  const match = unopened.exec(String(message));
  return match === null ? null : Number(match[1] ?? canNotOpen) & 0xff;
}
