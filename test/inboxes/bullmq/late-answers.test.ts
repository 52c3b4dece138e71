import { bullmqInbox } from "@reporthook/bullmq";
import { onEachServer } from "@reporthook/test-support/servers";
import {
  createInboxFixture,
  deferred,
  endedAs,
  handled,
  valid,
} from "@reporthook/testing/internals";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { openGate } from "./gate.ts";

const dead = endedAs("dead", "do_not_retry");
let prefixes = 0;

onEachServer((server, { kind, start }) => {
  /** Two processes on one server; what is answered to the first one passes a gate. */
  async function two({ leaseMs = 15_000 } = {}) {
    const gate = await openGate(server().url);
    const prefix = `late_${++prefixes}`;
    const open = (connection: string) =>
      createInboxFixture(bullmqInbox({ connection, prefix, logger: false, leaseMs }), 60_000);
    const [behind, direct] = [open(gate.url), open(server().url)];
    const end = async (): Promise<void> => {
      await behind.end();
      await direct.end();
      gate.close();
    };
    const reaches = (id: string, state: string) =>
      direct.until(async () => (await direct.inbox.get(id))?.state === state, `it is ${state}`);
    return { gate, behind, direct, reaches, end };
  }

  it.concurrent("a job whose lock is over when its answer comes is not begun", async () => {
    const { gate, behind, direct, reaches, end } = await two({ leaseMs: 1_000 });
    const id = await direct.put();
    await direct.work("verify", valid);
    gate.holdAnswers(id);
    const late = behind.consume("handle", dead);
    await behind.until(() => gate.holds, "its answer is kept back");
    const { consumer, jobs } = direct.consume("handle", handled);
    await reaches(id, "handled");
    await consumer.stop();
    gate.resume();
    const next = await direct.put();
    await direct.work("verify", valid);
    await reaches(next, "dead");
    expect([late.jobs.map((job) => job.id), jobs.length]).toEqual([[next], 1]);
    expect((await direct.inbox.get(id))?.state).toBe("handled");
    await end();
  });

  it.concurrent("a result that was recorded is told, although the answer was lost", async () => {
    const { gate, behind, direct, reaches, end } = await two();
    const id = await direct.put();
    const { recorded } = behind.consume("verify", () => {
      // The last request of recording it.
      gate.holdAnswers("gone on");
      return dead;
    });
    await reaches(id, "dead");
    await direct.until(
      async () => (await direct.inbox.counts("a")).received === 0,
      "it has left the first queue",
    );
    gate.sever();
    await behind.until(() => recorded.length === 1, "it is told");
    expect(recorded[0]?.outcome).toBe(dead);
    expect(await direct.inbox.counts("a")).toMatchObject({ received: 0, dead: 1 });
    await end();
  });

  it.concurrent("a job that has gone on is not put back by a second try", async () => {
    const { gate, behind, direct, reaches, end } = await two();
    const id = await direct.put();
    const { recorded } = behind.consume("verify", () => {
      gate.holdAnswers("");
      return valid;
    });
    const { jobs } = direct.consume("handle", dead);
    await reaches(id, "dead");
    gate.sever();
    await behind.until(() => recorded.length === 1, "its verdict is told");
    await direct.until(
      async () => (await direct.inbox.counts("a")).received === 0,
      "it has left the first queue",
    );
    expect(await direct.inbox.counts("a")).toMatchObject({ verified: 0, dead: 1 });
    expect(jobs).toHaveLength(1);
    await end();
  });

  it.concurrent("a result that can't be recorded before the end is told as an error", async () => {
    const { gate, behind, direct, end } = await two();
    const id = await direct.put();
    await direct.work("verify", valid);
    const begun = deferred();
    const consuming = behind.consume("handle", async () => {
      gate.close();
      begun.resolve();
      return handled;
    });
    await begun.promise;
    await behind.patiently(consuming.consumer.abort(), "abort()");
    expect(consuming.errors).toHaveLength(1);
    expect(consuming.recorded).toEqual([]);
    expect((await direct.inbox.get(id))?.state).toBe("verified");
    await end();
  });

  it.runIf(kind === "redis")("a server that became a replica is left", async () => {
    const [first, second] = [await start(), await start()];
    const gate = await openGate(first.url);
    const { put, until, end } = createInboxFixture(
      bullmqInbox({ connection: gate.url, prefix: "failover", logger: false }),
      60_000,
    );
    await put();
    gate.moveTo(second.url);
    const client = new Redis(first.url);
    await client.replicaof("127.0.0.1", Number(new URL(second.url).port));
    client.disconnect();
    const stores = async (): Promise<boolean> => {
      try {
        return (await put()) !== "";
      } catch {
        return false;
      }
    };
    await until(stores, "it stores on the new one");
    await end();
    gate.close();
    await first.stop();
    await second.stop();
  });
});
