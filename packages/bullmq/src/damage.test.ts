import type { Inbox } from "@reporthook/core";
import { fixtureOf } from "@reporthook/test-support/fixture";
import { onEachServer, type Server } from "@reporthook/test-support/servers";
import { inboxContract } from "@reporthook/testing";
import { endedAs, handled, valid } from "@reporthook/testing/internals";
import { Redis } from "ioredis";
import { describe, expect, it, test } from "vitest";
import { bullmqInbox } from "./index.ts";
import type { JobData } from "./queues/job-state.ts";
import { ReceiverQueues } from "./queues/queues.ts";
import { openConnection } from "./server/connection.ts";
import { postgresConnection } from "./server/postgres.ts";
import { bullmqSettingsOf } from "./server/settings.ts";

const patienceMs = 60_000;
const { guarantees } = bullmqInbox({ connection: "redis://127.0.0.1" });
let prefixes = 0;
const options = (server: Server, prefix = `damage_${prefixes}`) => ({
  connection: server.url,
  prefix,
  logger: false as const,
});

/** Changes the queues of receiver `a`, as another program would. */
async function behind<T>(server: Server, run: (queues: ReceiverQueues) => Promise<T>): Promise<T> {
  const given = bullmqSettingsOf(options(server));
  const engine = await openConnection(given);
  try {
    return await run(new ReceiverQueues(engine, given.prefix, "a"));
  } finally {
    await engine.close();
  }
}

/** Another text or object as the data of a delivery. */
const wrong: Readonly<Record<string, (data: JobData) => unknown>> = {
  "is of another program": () => ({ to: "somebody@example.com", template: 3 }),
  "is null": () => null,
  "is a list": () => [1, 2],
  "has no delivery": ({ body }) => ({ body }),
  "has a delivery that is null": ({ body }) => ({ body, delivery: null }),
  "has text that is no JSON": ({ body }) => ({ body, delivery: "{" }),
  "has a body of another kind": (data) => ({ ...data, body: { base64: 3 } }),
  "lacks what is needed": ({ body, delivery }) => ({
    body,
    delivery: { ...(delivery as object), history: undefined },
  }),
  "has another kind of value": ({ body, delivery }) => ({
    body,
    delivery: { ...(delivery as object), receivedAt: "yesterday" },
  }),
};

onEachServer((server, { kind }) => {
  const open = () => {
    prefixes++;
    return bullmqInbox(options(server()));
  };

  /** Changes the data of a job wherever it is. */
  const rewrite = (change: (data: JobData) => unknown) => async (_inbox: Inbox, id: string) =>
    behind(server(), async (queues) => {
      for (const place of ["verify", "handle", "held", "dead"] as const) {
        const job = await queues.of(place).getJob(id);
        await job?.updateData(change(job.data) as JobData);
      }
    });

  /** Runs a command on every record that the server has of a delivery. */
  const raw =
    (redis: (client: Redis, key: string) => Promise<unknown>, sql: string) =>
    async (_inbox: Inbox, id: string) => {
      if (kind === "redis") {
        const client = new Redis(server().url);
        for (const key of await client.keys(`bull:damage_${prefixes}-a-*:${id}`)) {
          await redis(client, key);
        }
        client.disconnect();
      } else {
        const connection = postgresConnection({ connectionString: server().url });
        await connection.pool.query(sql, [id]);
        await connection.close();
      }
    };

  const update = (data: string) => `UPDATE bullmq.job SET data = '${data}' WHERE id = $1`;
  const damages: Readonly<Record<string, (inbox: Inbox, id: string) => Promise<void>>> = {
    // On PostgreSQL nothing would be left of it.
    ...(kind === "redis" && { "is deleted": raw((client, key) => client.del(key), "") }),
    "has lost its data": raw((client, key) => client.hdel(key, "data"), update("{}")),
    "has data cut off": raw((client, key) => client.hset(key, "data", '{"delivery":'), update("3")),
    ...Object.fromEntries(Object.entries(wrong).map(([how, data]) => [how, rewrite(data)])),
  };
  describe.each(Object.entries(damages))("when a record %s", (_how, damage) => {
    for (const { name, run } of inboxContract({
      open,
      guarantees,
      patienceMs,
      damage,
      keepsRequests: false,
    })) {
      if (name.includes("lost or can't be read")) test(name, run);
    }
  });

  it("an inbox parks a job of another program in its queues once, with its data as the body", async () => {
    const { inbox, act, clock, put, consume, until } = fixtureOf(open());
    const id = await put();
    await behind(server(), async (queues) => {
      for (const place of ["verify", "handle"] as const) {
        await queues.of(place).add("mail", { status: "complete" } as never);
      }
      await queues.of("verify").add("mail", {} as never, { jobId: "name-b", delay: 1 });
    });
    const consuming = [consume("verify", valid), consume("handle", handled)];
    await until(async () => (await inbox.counts("a")).dead === 3, "all three are parked");
    await until(async () => (await inbox.get(id))?.state === "handled", "the delivery is handled");
    const dead = await inbox.list({ receiver: "a", state: "dead" });
    expect(dead.map(({ reason }) => reason?.code)).toEqual(Array(3).fill("not_understood"));
    const told = consuming.flatMap(({ recorded }) => recorded);
    expect(told.filter(({ outcome }) => outcome.to === "dead")).toHaveLength(3);
    const bodies = await Promise.all(dead.map(async (one) => (await inbox.get(one.id))?.body));
    const wrapped = '{"record":{"status":"complete"}}';
    expect(bodies.sort()).toEqual(["", wrapped, wrapped]);
    expect(await act("discard", { state: "dead" })).toBe(3);
    expect((await inbox.counts()).dead).toBe(0);
    expect((await inbox.facts("a")).oldestWaiting).toBe(null);
    expect((await inbox.prune(new Date(clock.now()))).deleted).toEqual({});
  });

  it("an act finds a parked delivery whose record is damaged by the reason that a list shows", async () => {
    const { inbox, act, put, work } = fixtureOf(open());
    const id = await put();
    await work("verify", endedAs("held", "not_verified"));
    await behind(server(), async (queues) => {
      const job = await queues.of("held").getJob(id);
      await job?.updateData({ status: "complete" } as never);
    });
    const shown = await inbox.list({ reason: "not_understood" });
    expect(shown.map((one) => one.id)).toEqual([id]);
    expect(await act("discard", { reason: "not_understood" })).toBe(1);
    expect(await inbox.get(id)).toBeNull();
  });

  it("an inbox goes by what this program wrote about the receivers", async () => {
    const inbox = open();
    const { put } = fixtureOf(inbox);
    await put();
    await behind(server(), async (queues) => {
      const other = queues.of("verify").name.replace(/-a-verify$/, "-receivers");
      const engine = await openConnection(bullmqSettingsOf(options(server())));
      for (const jobId of ["name-a:b", "other", "name-"]) {
        await engine
          .queue(other)
          .add("mail", {}, { jobId })
          .catch(() => {});
      }
      await engine.queue(other).add("mail", {});
      await engine.close();
    });
    expect(await inbox.health()).toEqual({ ok: true });
    expect(await inbox.list()).toHaveLength(1);
    expect((await inbox.counts()).received).toBe(1);
  });

  it.runIf(kind === "redis")(
    "an inbox knows its receivers again when the server has lost them",
    async () => {
      const inbox = open();
      const { put } = fixtureOf(inbox);
      await put();
      const client = new Redis(server().url);
      const key = `bull:damage_${prefixes}-receivers`;
      for (const lost of [`${key}:wait`, `${key}:name-a`, `${key}:name-a ${key}:wait`]) {
        await client.del(lost.split(" "));
        expect(await inbox.health()).toEqual({ ok: true });
        expect(await inbox.list()).toHaveLength(1);
        expect((await inbox.counts()).received).toBe(1);
      }
      client.disconnect();
    },
  );

  it.runIf(kind === "redis")("prune() tells which parked deliveries are lost, once", async () => {
    prefixes++;
    const lines: unknown[] = [];
    const warn = (fields: object): void => void lines.push(fields);
    const inbox = bullmqInbox({ ...options(server()), logger: { warn } });
    const { clock, put, work } = fixtureOf(inbox);
    const ids = [await put(), await put()];
    await work("verify", endedAs("held", "expired"), endedAs("held", "expired"));
    await damages["is deleted"]?.(inbox, ids[0] ?? "");
    for (let count = 0; count < 2; count++) await inbox.prune(new Date(clock.now()));
    expect(lines).toEqual([{ inbox: server().url, id: ids[0] }]);
    expect((await inbox.counts()).held).toBe(1);
  });

  it.runIf(kind === "redis")("an inbox parks a delivery deleted while in work", async () => {
    prefixes++;
    const inbox = bullmqInbox({ ...options(server()), leaseMs: 1_000 });
    const { put, work, consume, until } = fixtureOf(inbox);
    const id = await put();
    const other = await put();
    await work("verify", valid, valid);
    const { recorded } = consume("handle", async (job) => {
      if (job.id === id) await damages["is deleted"]?.(inbox, id);
      return handled;
    });
    await until(async () => (await inbox.get(id))?.state === "dead", "it is parked");
    await until(async () => (await inbox.get(other))?.state === "handled", "another goes on");
    expect(recorded.map(({ outcome }) => outcome.to).sort()).toEqual(["dead", "handled"]);
  });

  it.runIf(kind === "redis")("a deletion while a delivery moves on is noticed", async () => {
    prefixes++;
    const inbox = bullmqInbox({ ...options(server()), leaseMs: 1_000 });
    const { put, consume, until } = fixtureOf(inbox);
    const id = await put();
    const { recorded } = consume("verify", async () => {
      await damages["is deleted"]?.(inbox, id);
      return valid;
    });
    await until(async () => (await inbox.get(id))?.state === "verified", "it has gone on");
    await until(async () => (await inbox.counts()).received === 0, "nothing of it is left behind");
    expect(recorded.map(({ outcome }) => outcome)).toEqual([valid]);
    expect((await inbox.counts()).dead).toBe(0);
  });
});
