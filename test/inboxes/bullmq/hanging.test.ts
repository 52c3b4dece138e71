import { bullmqInbox } from "@reporthook/bullmq";
import { onEachServer } from "@reporthook/test-support/servers";
import { createInboxFixture, deferred, handled, valid } from "@reporthook/testing/internals";
import { expect, it, vi } from "vitest";
import { openGate } from "./gate.ts";

const patienceMs = 60_000;
const leaseMs = 2_000;
let prefixes = 0;

onEachServer((server, { kind, start }) => {
  const open = (connection: string) =>
    bullmqInbox({
      connection,
      prefix: `hang_${++prefixes}`,
      logger: false,
      leaseMs,
    });

  it.concurrent("the work that is asked for while the server is away begins when it is back", async () => {
    const own = await start();
    const { inbox, put, consume, until, end } = createInboxFixture(open(own.url), patienceMs);
    await put();
    await own.kill();
    const { jobs } = consume("verify", valid);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await own.start();
    await until(() => jobs.length === 1, "it is verified");
    // The connection that counts may come back after the one that brought the job.
    const recorded = () => inbox.counts("a").then(({ verified }) => verified === 1);
    await until(() => recorded().catch(() => false), "it is recorded");
    await end();
    await own.stop();
  });

  const returns = kind === "redis" ? it : null;
  returns?.("a connection to Redis that ends is made again at once", async () => {
    const gate = await openGate(server().url);
    const inbox = open(gate.url);
    await inbox.open();
    const opens = () =>
      inbox.open().then(
        () => true,
        () => false,
      );
    const away = async (): Promise<number> => {
      gate.sever();
      const since = performance.now();
      await vi.waitUntil(opens, { timeout: patienceMs, interval: 2 });
      return performance.now() - since;
    };
    // Something else on the machine may hold up one.
    const took = [await away(), await away(), await away(), await away(), await away()];
    expect(Math.min(...took)).toBeLessThan(90);
    await inbox.close();
    gate.close();
  });

  it.concurrent("close() ends while the server hangs, with work in hand or without", async () => {
    const gate = await openGate(server().url);
    const { inbox, put, consume, patiently } = createInboxFixture(open(gate.url), patienceMs);
    await put();
    const begun = deferred();
    const idle = consume("handle", handled);
    const busy = consume("verify", async () => {
      begun.resolve();
      return new Promise(() => {});
    });
    await begun.promise;
    gate.hang();
    const adding = put().catch(() => {});
    await patiently(inbox.close(), "close()");
    expect([idle.consumer.running, busy.consumer.running]).toEqual([0, 0]);
    await patiently(adding, "add()");
    gate.close();
  });

  // PostgreSQL gives a lock that is over to the one who had it.
  const expires = kind === "redis" ? it.concurrent : null;
  expires?.(
    "a process whose server stood still says of no process that it took over from it",
    async () => {
      const own = await start();
      const inbox = open(own.url);
      const { put, consume, until, end } = createInboxFixture(inbox, patienceMs);
      await put();
      const again = deferred<typeof valid>();
      const { jobs, notices } = consume("verify", () => again.promise);
      await until(() => jobs.length === 1, "it begins");
      // Only then it knows who runs the job.
      await new Promise((resolve) => setTimeout(resolve, leaseMs));
      process.kill(own.pid() ?? 0, "SIGSTOP");
      await new Promise((resolve) => setTimeout(resolve, 2 * leaseMs));
      process.kill(own.pid() ?? 0, "SIGCONT");
      await until(() => jobs.length === 2, "it begins again");
      again.resolve(valid);
      await until(async () => (await inbox.counts()).verified === 1, "it is recorded");
      expect(notices).toEqual([]);
      await end();
      await own.stop();
    },
  );

  it.concurrent("an inbox opens new connections when the old ones went dead without a word", async () => {
    const gate = await openGate(server().url);
    const { inbox, put, consume, until, end } = createInboxFixture(open(gate.url), 45_000);
    const { jobs } = consume("verify", valid);
    await put();
    await until(() => jobs.length === 1, "it is verified");
    gate.cut();
    const stored = async (): Promise<boolean> => {
      try {
        await put();
        return true;
      } catch {
        return false;
      }
    };
    // Requests under way find out, not only those that come later.
    await Promise.all([stored(), stored(), inbox.counts().catch(() => null)]);
    await until(stored, "it stores again");
    await until(() => jobs.length >= 2, "it works again");
    await end();
    gate.close();
  });
});
