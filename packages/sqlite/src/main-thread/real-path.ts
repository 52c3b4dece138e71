import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

const maxLinks = 40;

/** The path of a file, existing or not, with all links resolved: SQLite keeps its log there. */
export function realPath(path: string, links = 0): string {
  try {
    const place = join(realpathSync(dirname(path)), basename(path));
    const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (!isLink || links === maxLinks) return place;
    return realPath(resolve(dirname(place), readlinkSync(place)), links + 1);
  } catch {
    // The folder does not exist: open() will report it.
    return path;
  }
}
