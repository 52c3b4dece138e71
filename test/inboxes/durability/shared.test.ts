import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { programOf } from "@reporthook/test-support/program";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "./folder.ts";
import { query } from "./serve.ts";

const each = 600;

const file = await programOf(new URL("processes/storer.ts", import.meta.url));

function start(path: string, name: string): ChildProcess {
  const child = fork(file, [path, name, String(each)], {
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function said(child: ChildProcess): Promise<unknown> {
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`It ended with ${code}`);
  });
  const [message] = (await Promise.race([once(child, "message"), ended])) as unknown[];
  ended.catch(() => {});
  return message;
}

test("two processes that write and checkpoint one file at once lose nothing, and the file is whole", async () => {
  const path = join(makeFolder(), "inbox.db");
  const children = [start(path, "one"), start(path, "other")];
  await Promise.all(children.map(said));
  const ends = children.map(said);
  for (const child of children) child.send("go");
  const handled = (await Promise.all(ends)).flat();
  expect(new Set(handled).size).toBe(2 * each);
  await Promise.all(children.map((child) => child.exitCode ?? once(child, "exit")));
  query(path, (all) => {
    expect(all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    const number = "SELECT count(*) AS number FROM delivery WHERE body IS NOT NULL";
    expect(all(number)).toEqual([{ number: 2 * each }]);
  });
});
