import module from "node:module";

/**
 * The URL of this file, by which its neighbours and the installed packages are found; empty in a bundle that became
 * CommonJS.
 */
// The CommonJS build replaces import.meta by __filename.
export const here: string = import.meta.url ?? "";

/** The `require` of a file, by its path or URL. */
export function requireOf(file: string): NodeJS.Require {
  return module.createRequire(file);
}

/** The installed libsql, in a form that file tracers recognize and bundlers don't: it has a native part. */
export function loadLibsql(): unknown {
  const requireHere = module.createRequire(import.meta.url);
  return requireHere("libsql");
}
