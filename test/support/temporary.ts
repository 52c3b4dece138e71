import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes a folder of temporary files, which is deleted with all others when the run ends: see run/folder.ts. */
export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), "reporthook-"));

/** Gives a path in such a folder, where nothing is yet. */
export const temporaryPath = (): string => join(temporaryFolder(), "inbox.db");
