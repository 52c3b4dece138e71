/**
 * The URL of this file, by which its neighbours and the installed packages are found; empty in a bundle that became
 * CommonJS.
 */
// The build of the CommonJS version puts __filename in the place of import.meta.
export const here: string = import.meta.url ?? "";
