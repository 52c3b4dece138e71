import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeFolder } from "./folder.ts";
import { notification, post, query, until } from "./serve.ts";

interface Process {
  readonly url: string;
  /** Why the inbox can't be used. */
  readonly error: string | undefined;
  readonly handled: readonly string[];
  readonly isGone: () => boolean;
  close(): Promise<void>;
}

async function start(path: string, works: boolean): Promise<Process> {
  const file = fileURLToPath(new URL("damaged-process.ts", import.meta.url));
  const child = fork(file, [path, works ? "works" : ""], {
    execArgv: ["--conditions=@reporthook/source", "--import", "tsx"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const handled: string[] = [];
  const started = await new Promise<{ url: string; error?: string }>((resolve, reject) => {
    child.on("message", (message: { handled?: string; url: string }) => {
      if (message.handled === undefined) resolve(message);
      else handled.push(message.handled);
    });
    child.once("exit", reject);
  });
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    ...{ url: started.url, error: started.error, handled, isGone },
    async close() {
      if (isGone()) return;
      const exited = once(child, "exit");
      child.send("close");
      await exited;
    },
  };
}

/** Sends one to each process, again and again; resolves to the ids that were acknowledged. */
async function sendAll(processes: readonly Process[], rounds: number): Promise<string[]> {
  const ids: string[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const { url, isGone } of processes) {
      // A process that has ended refuses, too.
      const answer = isGone() ? null : await post(url, notification(3_000)).catch(() => null);
      if (answer?.status === 200) ids.push(answer.id);
    }
  }
  return ids;
}

/** What was kept of a file while it was in use. */
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
  "is swapped for its own copy": (file, { copies }, index) => {
    copyFileSync(copies[index] ?? "", `${file}-new`);
    renameSync(`${file}-new`, file);
  },
  "has a hole at its beginning": (file) => punch(file, 0, page),
  "has a hole for the rest": (file) => punch(file, page, statSync(file).size),
};

/** Two processes fill a file, and it is copied in the middle of that. */
async function scene(works: boolean) {
  const path = join(makeFolder(), "inbox.db");
  const processes = [await start(path, works), await start(path, works)];
  await sendAll(processes, 60);
  const files = [path, `${path}-wal`, `${path}-shm`];
  const copies = files.map((file) => `${file}.copy`);
  for (const [index, file] of files.entries()) copyFileSync(file, copies[index] ?? "");
  await sendAll(processes, 60);
  const [backup, other] = [`${path}.backup`, join(makeFolder(), "inbox.db")];
  query(path, (_, exec) => exec(`VACUUM INTO '${backup}'`));
  const another = await start(other, false);
  await sendAll([another], 20);
  await another.close();
  await sendAll(processes, 2);
  return { path, files, processes, kept: { copies, backup, other } };
}

/** Asserts that what was acknowledged is handled, by a process before or after a restart. */
async function expectHandled(path: string, before: readonly Process[], ids: readonly string[]) {
  for (const one of before) await one.close();
  const again = await start(path, true);
  const all = (): Set<string> => new Set([...before, again].flatMap(({ handled }) => handled));
  const missing = (): string[] => ids.filter((id) => !all().has(id));
  if (again.error === undefined) {
    await until(() => missing().length === 0 || again.isGone(), "all to be handled").catch(
      () => {},
    );
  }
  expect({ missing: missing(), why: again.error }).toMatchObject({ missing: [] });
  await again.close();
}

for (const works of [true, false]) {
  for (const [index, name] of ["the file", "its log", "the index of its log"].entries()) {
    describe(`${name}, ${works ? "while it is worked on" : "to be worked on after a restart"}`, () => {
      test.each(Object.keys(damages))(
        "%s: what is acknowledged after that is handled",
        async (what) => {
          const { path, files, processes, kept } = await scene(works);
          damages[what]?.(files[index] ?? "", kept, index);
          const ids = await sendAll(processes, 30);
          console.log(
            works,
            name,
            what,
            ids.length,
            processes.map((p) => p.isGone()),
            existsSync(path),
          );
          await expectHandled(path, processes, ids);
        },
      );
    });
  }
}
