import { closeSync, lstatSync } from "node:fs";
import { tryGet } from "@reporthook/core/store";
import { descriptorOf, makeNew } from "../database/place.ts";

interface Held {
  readonly descriptor: number;
  users: number;
}

const key = Symbol.for("reporthook.files");
const shared = globalThis as { [key: symbol]: Map<string, Held> | undefined };
// One for all copies of this package in the process.
const files: Map<string, Held> = shared[key] ?? new Map();
shared[key] = files;

/**
 * The descriptor through which the content of a file is read: one for all inboxes of the process on it, open as long as any of
 * them. Closing any descriptor of a file drops the locks that SQLite has on it for the whole process.
 */
export class HeldFile {
  readonly #name: string | null;

  /** Makes a missing file if `isMade`. */
  constructor(path: string, isMade: boolean) {
    // The thread, which tries the same, says why it fails.
    if (isMade) tryGet(() => makeNew(path));
    this.#name = nameOf(path);
    if (this.#name === null) return;
    const descriptor = files.get(this.#name)?.descriptor ?? descriptorOf(path);
    if (descriptor === null) this.#name = null;
    else files.set(this.#name, { descriptor, users: (files.get(this.#name)?.users ?? 0) + 1 });
  }

  /** Null if there is no such file, or it can't be read. */
  get descriptor(): number | null {
    return files.get(this.#name ?? "")?.descriptor ?? null;
  }

  /** Ends the use by one inbox, once SQLite has closed the file. */
  release(): void {
    const held = files.get(this.#name ?? "");
    if (held === undefined || --held.users > 0) return;
    files.delete(this.#name ?? "");
    closeSync(held.descriptor);
  }
}

/** A name of the file at a path, the same for all paths to it; null if there is none. */
function nameOf(path: string): string | null {
  const file = tryGet(() => lstatSync(path));
  return file?.isFile() ? `${file.dev}:${file.ino}` : null;
}
