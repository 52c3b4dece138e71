import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { states } from "@reporthook/core/store";
import { programOf } from "@reporthook/test-support/program";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "./folder.ts";
import { query } from "./serve.ts";

const each = 600;

const file = await programOf(new URL("processes/storer.ts", import.meta.url));

function start(path: string, name: string, number: number = each): ChildProcess {
  const child = fork(file, [path, name, String(number)], {
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

test("three processes that are killed and stopped while they write and checkpoint one file see no damage, count what it holds, and none is refused at its start", async () => {
  const folder = makeFolder();
  const path = join(folder, "inbox.db");
  const begin = async (name: string): Promise<ChildProcess> => {
    const child = start(path, name, Number.MAX_SAFE_INTEGER);
    await said(child);
    child.send("go");
    return child;
  };
  const children = await Promise.all(["a", "b", "c"].map(begin));
  for (let turn = 0; turn < 24; turn++) {
    await sleep(150);
    const child = children.shift() as ChildProcess;
    const isKilled = turn % 3 > 0;
    child.kill(isKilled ? "SIGKILL" : "SIGSTOP");
    await (isKilled ? once(child, "exit") : sleep(150));
    child.kill("SIGCONT");
    children.push(isKilled ? await begin(`${turn}`) : child);
  }
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(children.map((child) => child.signalCode ?? once(child, "exit")));
  expect(readdirSync(folder).sort()).toEqual(["inbox.db", "inbox.db-shm", "inbox.db-wal"]);
  query(path, (all) => {
    expect(all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    const counted = `key IN ('${states.join("', '")}')`;
    expect(
      all(`SELECT sum(value) AS number FROM tally, json_each(counts) WHERE ${counted}`),
    ).toEqual(all("SELECT count(*) AS number FROM delivery"));
  });
});
