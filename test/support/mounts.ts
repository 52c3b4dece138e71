import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { run } from "./needs.ts";

/** Mounts a file system of 2 MiB on a folder until the test ends. */
export function mountTiny(folder: string): void {
  run("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder);
  onTestFinished(() => run("umount", "--lazy", folder));
}

/** Has a mounted folder be written to, or not. */
export function remount(folder: string, mode: "ro" | "rw"): void {
  run("mount", "-o", `remount,${mode}`, folder);
}

/** Makes a file read-only for every user, even root; returns the function that ends that. */
export function protect(path: string): () => void {
  run("mount", "--bind", path, path);
  const free = (): void => run("umount", "--lazy", path);
  run("mount", "-o", "remount,bind,ro", path);
  return free;
}

/** Fills a file system to the last block; returns what frees it again. */
export function fill(folder: string): () => void {
  const path = join(folder, "filler");
  const filler = openSync(path, "w");
  const block = Buffer.alloc(4_096, 1);
  try {
    for (;;) writeSync(filler, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(filler);
  }
  return () => rmSync(path);
}
