/** The URL of this file, by which its neighbours and the installed packages are found. */
export const here: string = import.meta.url;
