/** The names of SQLite's result codes, in their order. */
const codes: readonly string[] = (
  "OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL " +
  "CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB"
).split(" ");

/** The name of SQLite's primary result code (`BUSY`, `CORRUPT`, `FULL`, `NOTADB` …), or null. */
export function sqliteCode(error: unknown): string | null {
  if (typeof error !== "object" || error === null) return null;
  const { errcode, rawCode, code, message } = error as Record<string, unknown>;
  for (const extended of [errcode, rawCode]) {
    if (typeof extended === "number") return nameOf(extended);
  }
  const named = typeof code === "string" ? /^SQLITE_([A-Z]+)/.exec(code)?.[1] : undefined;
  if (named !== undefined) return codes.includes(named) ? named : null;
  // A file that can't be opened has no code in libsql, nor without its folder in better-sqlite3.
  const text = String(message);
  if (/^(Cannot open database because the directory|Too many open files)/.test(text)) {
    return "CANTOPEN";
  }
  const [, number] = /^ConnectionFailed\(.*: (\d+)"\)$/s.exec(text) ?? [];
  return number === undefined ? null : nameOf(Number(number));
}

function nameOf(extended: number): string | null {
  return codes[extended & 0xff] ?? null;
}
