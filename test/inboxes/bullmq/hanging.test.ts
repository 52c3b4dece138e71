import { bullmqInbox } from "@reporthook/bullmq";
import { onEachServer } from "@reporthook/test-support/servers";
import { createInboxFixture, deferred, handled, valid } from "@reporthook/testing/internals";
import { expect, it } from "vitest";
import { openGate } from "./gate.ts";

const patienceMs = 60_000;
let prefixes = 0;

onEachServer((server, { start }) => {
  const open = (connection: string) =>
    bullmqInbox({
      ...{ connection, prefix: `hang_${++prefixes}`, logger: false, leaseMs: 2_000 },
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
