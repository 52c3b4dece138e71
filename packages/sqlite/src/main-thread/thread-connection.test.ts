import { readdirSync, readlinkSync } from "node:fs";
import type { Worker } from "node:worker_threads";
import { tryGet } from "@reporthook/core/store";
import { testWith } from "@reporthook/test-support/needs";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { createInboxFixture, valid } from "@reporthook/testing/internals";
import { expect, it, vi } from "vitest";
import { sqliteInbox } from "../sqlite-inbox.ts";
import * as spawn from "./spawn.ts";

const path = temporaryPath();

vi.mock(import("./spawn.ts"), { spy: true });

it("a thread that ended and can't be started again is tried until it can, and said", async () => {
  const inbox = sqliteInbox(path);
  const { consume, until, end } = createInboxFixture(inbox, 60_000);
  await inbox.open();
  const { jobs, errors } = consume("verify", valid);
  const thread = vi.mocked(spawn.startThread).mock.results[0]?.value as Worker;
  vi.mocked(spawn.startThread).mockImplementationOnce(() => {
    throw new Error("EAGAIN");
  });
  await thread.terminate();
  await until(() => errors.length >= 2, "the end and the start are told");
  expect(String(errors[1])).toMatch(/thread can't be started: .*EAGAIN/);
  const other = createInboxFixture(sqliteInbox(path), 60_000);
  const id = await other.put();
  await until(() => jobs.length === 1, "it works again");
  expect(jobs[0]?.id).toBe(id);
  await other.end();
  await end();
});

it("backlog() has what is stored while the thread that ended is started again", async () => {
  const inbox = sqliteInbox(temporaryPath());
  const { put, end } = createInboxFixture(inbox, 60_000);
  await put();
  const { waiting } = inbox.backlog("a");
  const thread = vi.mocked(spawn.startThread).mock.results.at(-1)?.value as Worker;
  await thread.terminate();
  expect([waiting, inbox.backlog("a").waiting]).toEqual([1, 1]);
  await inbox.open();
  expect(inbox.backlog("a").waiting).toBe(1);
  await end();
});

testWith(process.platform === "linux" ? null : "Linux lists the open files")(
  "a thread that can't be started leaves its file closed",
  async () => {
    const own = temporaryPath();
    const inbox = sqliteInbox(own);
    vi.mocked(spawn.startThread).mockImplementationOnce(() => {
      throw new Error("EAGAIN");
    });
    await expect(inbox.open()).rejects.toThrow("EAGAIN");
    const open = readdirSync("/proc/self/fd").map((fd) =>
      tryGet(() => readlinkSync(`/proc/self/fd/${fd}`)),
    );
    expect(open).not.toContain(own);
  },
);
