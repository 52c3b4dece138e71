/**
 * Checks the path of an inbox: SQLite would make a file of any name in the working folder.
 *
 * @throws TypeError that says what it takes, and quotes no URL, which may hold a token
 */
export function checkPath(path: unknown): asserts path is string {
  const takes = "sqliteInbox takes the path of a file, like inbox.db";
  // libsql ends the process on a NUL.
  if (typeof path !== "string" || /^(?:\s*|:memory:.*)$|\0/.test(path)) {
    throw new TypeError(`${takes}: path must name a file; without one, use memoryInbox()`);
  }
  // A single letter is a drive of Windows.
  const [scheme] = /^[a-z][a-z\d+.-]+:/i.exec(path) ?? [];
  if (scheme !== undefined) {
    const way =
      scheme === "file:" ? "give it without file:, or use fileURLToPath()" : "it opens no server";
    throw new TypeError(`${takes}, not a URL (${scheme}): ${way}`);
  }
  const [unset] = /(?<![^/\\])(?:undefined|null|NaN|\[object \w+\])(?![^/\\])/.exec(path) ?? [];
  if (unset !== undefined || path !== path.trim()) {
    const why = unset === undefined ? "white space at an end" : `"${unset}" in it`;
    throw new TypeError(`${takes}, and this one has ${why}: check the variable it comes from`);
  }
}
