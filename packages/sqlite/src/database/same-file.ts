import type { Stats } from "node:fs";

/** Whether both are of one file, whose names may differ; false if one is of none. */
export function isSameFile(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}
