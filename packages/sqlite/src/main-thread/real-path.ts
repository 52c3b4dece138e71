import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

const maxLinks = 40;

/** The path of a file, there already or not, behind all links: SQLite keeps its log beside that. */
export function realPath(path: string, links = 0): string {
  try {
    const place = join(realpathSync(dirname(path)), basename(path));
    const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (!isLink || links === maxLinks) return place;
    return realPath(resolve(dirname(place), readlinkSync(place)), links + 1);
  } catch {
    // The folder is not there: open() will tell.
    return path;
  }
}
