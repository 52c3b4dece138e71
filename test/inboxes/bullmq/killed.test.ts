import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bullmqInbox } from "@reporthook/bullmq";
import { programOf } from "@reporthook/test-support/program";
import { onEachServer } from "@reporthook/test-support/servers";
import { createInboxFixture } from "@reporthook/testing/internals";
import { afterAll, expect, it } from "vitest";
import type { WorkerOptions } from "./worker.ts";

const file = await programOf(new URL("worker.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "reporthook-killed-"));
afterAll(() => rmSync(folder, { recursive: true }));

onEachServer((server, { kind }) => {
  /** Workers on one delivery, and what they wrote down. */
  async function open(receiver: string) {
    const inboxUrl = server().url;
    const fixture = createInboxFixture(
      bullmqInbox({ connection: inboxUrl, logger: false }),
      60_000,
    );
    const diary = join(folder, `${kind}-${receiver}`);
    writeFileSync(diary, "");
    const id = await fixture.put({ receiver });
    const start = (handler: WorkerOptions["handler"]): ChildProcess => {
      const options: WorkerOptions = { inboxUrl, receiver, diary, leaseMs: 2_000, handler };
      return fork(file, [], {
        env: { ...process.env, WORKER: JSON.stringify(options), NODE_OPTIONS: "" },
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
    };
    const kill = async (child: ChildProcess): Promise<void> => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    };
    const wait = (state: string) =>
      fixture.until(async () => (await fixture.inbox.get(id))?.state === state, `it is ${state}`);
    return {
      ...fixture,
      id,
      start,
      kill,
      wait,
      told: () => readFileSync(diary, "utf8").trim().split("\n"),
    };
  }

  it("a delivery whose worker is killed while it handles for long is handled again, and not asked about again", async () => {
    const { inbox, id, start, kill, wait, told, end } = await open("long");
    const first = start("hangs");
    await wait("verified");
    await kill(first);
    const second = start("returns");
    await wait("handled");
    await kill(second);
    expect(told()).toEqual(["asked", "begun", "begun"]);
    const entry = await inbox.get(id);
    expect(entry?.history).toMatchObject([{ outcome: "verified" }, { outcome: "handled" }]);
    expect((await inbox.counts("long")).handled).toBe(1);
    await end();
  });

  it("a delivery whose worker is killed as soon as it handles is asked about again, and never lost", async () => {
    const { inbox, start, kill, wait, told, end } = await open("soon");
    await once(start("dies"), "exit");
    const second = start("returns");
    await wait("handled");
    await kill(second);
    expect(told()).toEqual(["asked", "begun", "asked", "begun"]);
    expect((await inbox.counts("soon")).handled).toBe(1);
    await end();
  });
});
