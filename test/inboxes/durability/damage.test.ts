import { execFileSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { inCheck } from "@reporthook/test-support/needs";
import { describe, expect, test } from "vitest";
import { makeFolder, serveFile } from "./folder.ts";
import { type Process, sendAll, start } from "./processes/processes.ts";
import { notification, post, query, until } from "./serve.ts";

/** The copies of a file that were made while it was in use. */
interface Kept {
  /** Copies of the three files by `cp`. */
  readonly copies: readonly string[];
  /** A copy by SQLite. */
  readonly backup: string;
  /** Another inbox. */
  readonly other: string;
}

type Damage = (file: string, kept: Kept, index: number) => void;

const page = 4_096;

function write(file: string, from: number, bytes: Buffer): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, bytes, 0, bytes.length, from);
  closeSync(descriptor);
}

function punch(file: string, from: number, length: number): void {
  execFileSync("fallocate", ["-p", "-o", String(from), "-l", String(length), file]);
}

const damages: Readonly<Record<string, Damage>> = {
  "is overwritten": (file) => write(file, 0, Buffer.alloc(statSync(file).size, 0xa5)),
  "is overwritten but for its beginning": (file) =>
    write(file, 2 * page, Buffer.alloc(statSync(file).size, 0xa5)),
  "is emptied": (file) => truncateSync(file),
  "is cut in half": (file) => truncateSync(file, Math.ceil(statSync(file).size / 2)),
  "is copied over by its own copy": (file, { copies }, index) =>
    writeFileSync(file, readFileSync(copies[index] ?? "")),
  "is copied over by another's": (file, { other }, index) =>
    writeFileSync(file, readFileSync([other, other, other][index] ?? "")),
  "is copied over by a backup": (file, { backup }) => writeFileSync(file, readFileSync(backup)),
  // As dd conv=notrunc does.
  "is overwritten by its own shorter copy": (file, { copies }, index) => {
    const copy = readFileSync(copies[index] ?? "");
    write(file, 0, copy.subarray(0, Math.ceil(copy.length / 2)));
  },
  "is swapped for its own copy": (file, { copies }, index) => {
    copyFileSync(copies[index] ?? "", `${file}-new`);
    renameSync(`${file}-new`, file);
  },
  // In the index: how many frames of the log are in the file.
  "has four bytes overwritten": (file) => write(file, 96, Buffer.alloc(4, 0xa5)),
  "has a hole at its beginning": (file) => punch(file, 0, page),
  "has a hole for the rest": (file) => punch(file, page, statSync(file).size),
};

/** Two processes fill a file, and it is copied in the middle of that. */
async function scene(works: boolean) {
  const path = join(makeFolder(), "inbox.db");
  const processes = await Promise.all([start(path, works), start(path, works)]);
  await sendAll(processes, 20);
  const files = [path, `${path}-wal`, `${path}-shm`];
  const copies = files.map((file) => `${file}.copy`);
  for (const [index, file] of files.entries()) copyFileSync(file, copies[index] ?? "");
  await sendAll(processes, 20);
  const [backup, other] = [`${path}.backup`, join(makeFolder(), "inbox.db")];
  query(path, (_, exec) => exec(`VACUUM INTO '${backup}'`));
  const another = await serveFile(other, { works: false });
  for (let sent = 0; sent < 20; sent++) await post(another.url, notification(3_000));
  await another.close();
  await sendAll(processes, 2);
  return { path, files, processes, kept: { copies, backup, other } };
}

/**
 * Asserts that what was acknowledged is handled, by a process before or after a restart: by each side of it once at most, as an
 * end that can't be stored is not known after it.
 */
async function expectHandled(path: string, before: readonly Process[], ids: readonly string[]) {
  for (const one of before) await one.close();
  const again = await start(path, true);
  const runs = (of: readonly Process[]): string[] =>
    of.flatMap(({ handled }) => handled).filter((id) => ids.includes(id));
  const missing = (): string[] => {
    const all = new Set(runs([...before, again]));
    return ids.filter((id) => !all.has(id));
  };
  if (again.error === undefined) {
    await until(() => missing().length === 0 || again.isGone(), "all to be handled").catch(
      () => {},
    );
  }
  await again.close();
  const twice = [before, [again]].flatMap((side) =>
    runs(side).filter((id, index, all) => all.indexOf(id) !== index),
  );
  const found = { missing: missing(), twice, why: again.error };
  expect(found).toMatchObject({ missing: [], twice: [] });
}

/** Sends one to a process; asserts that it is not ready and answers 503 if it refuses it. Resolves to the ids it acknowledged. */
async function expectAnswered(one: Process): Promise<string[]> {
  const wasReady = await one.isReady();
  const answer = await post(one.url, notification()).catch(() => null);
  const isReady = await one.isReady();
  const isTaken = answer?.status === 200;
  // SQLite ends a process whose index was emptied.
  if (isReady !== null && (wasReady === false || !isTaken)) {
    expect({ status: answer?.status, isReady }).toEqual({ status: 503, isReady: false });
  }
  return isTaken ? [answer.id] : [];
}

const places = ["the file", "its log", "the index of its log"];
const cases = Object.entries(damages).flatMap(([what, damage], number) =>
  places.map((name, index) => ({ name, what, damage, index, works: (number + index) % 2 === 0 })),
);
// Each takes seconds: three processes start one after the other.
const chosen = inCheck ? cases.filter((_, index) => index % 5 === 0) : cases;

describe("two processes", () => {
  test.each(chosen)(
    "each acknowledged delivery is handled: $name $what, busy: $works",
    async (one) => {
      const { path, files, processes, kept } = await scene(one.works);
      one.damage(files[one.index] ?? "", kept, one.index);
      const ids = await sendAll(processes, 20);
      for (const each of processes) ids.push(...(await expectAnswered(each)));
      await expectHandled(path, processes, ids);
    },
  );
});
