import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bullmqInbox } from "@reporthook/bullmq";
import { fixtureOf } from "@reporthook/test-support/fixture";
import { programOf } from "@reporthook/test-support/program";
import { onEachServer } from "@reporthook/test-support/servers";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { expect, it } from "vitest";
import type { WorkerOptions } from "./worker.ts";

const file = await programOf(new URL("worker.ts", import.meta.url));
const folder = temporaryFolder();

onEachServer((server, { kind }) => {
  /** Workers on one delivery, and what they wrote down. */
  async function open(receiver: string) {
    const inboxUrl = server().url;
    const fixture = fixtureOf(bullmqInbox({ connection: inboxUrl, logger: false }));
    const diary = join(folder, `${kind}-${receiver}`);
    writeFileSync(diary, "");
    const id = await fixture.put({ receiver });
    const start = (handler: WorkerOptions["handler"], releases = false): ChildProcess => {
      const options: WorkerOptions = {
        inboxUrl,
        receiver,
        diary,
        leaseMs: 2_000,
        handler,
        releases,
      };
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
    const { inbox, id, start, kill, wait, told } = await open("long");
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
  });

  it("a delivery whose worker is killed as soon as it handles is asked about again, and never lost", async () => {
    const { inbox, start, kill, wait, told } = await open("soon");
    await once(start("dies"), "exit");
    const second = start("returns");
    await wait("handled");
    await kill(second);
    expect(told()).toEqual(["asked", "begun", "asked", "begun"]);
    expect((await inbox.counts("soon")).handled).toBe(1);
  });

  it("a release of all whose process is killed in the middle, again and again, loses none and runs none twice", async () => {
    const { inbox, put, until, start, kill, told } = await open("released");
    for (let more = 1; more < many; more++) await put({ receiver: "released" });
    const parking = start("parks");
    const counts = () => inbox.counts("released");
    await until(async () => (await counts()).dead === many, "all are parked");
    await kill(parking);
    for (let kills = 1; kills <= 4; kills++) {
      const releasing = start("returns", true);
      const most = many - kills * 40;
      await until(async () => (await counts()).dead <= most, `${kills * 40} are released`);
      await kill(releasing);
    }
    const working = start("returns");
    await until(async () => (await counts()).verified === 0, "all that are released are handled");
    await kill(working);
    const { dead, handled, ...others } = await counts();
    expect(others).toEqual({ received: 0, verified: 0, held: 0, rejected: 0 });
    expect(dead + handled).toBe(many);
    expect(told().filter((line) => line === "begun").length).toBe(many + handled);
  });
});

/** More than the 50 that a step releases at once. */
const many = 250;
