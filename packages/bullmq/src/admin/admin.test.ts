import { inspect } from "node:util";
import type { Act } from "@reporthook/core";
import { dayMs, PruneCount } from "@reporthook/core/store";
import { openQueues } from "@reporthook/test-support/queues";
import { onEachServer } from "@reporthook/test-support/servers";
import { endedAs, handled, later, unsigned, valid } from "@reporthook/testing/internals";
import { PostgresConnection } from "bullmq";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { BacklogMeter } from "../process/backlog.ts";
import { nextHop, removeFromQueue, settle } from "../process/settle.ts";
import { type DeliveryJob, type Found, takenFrom } from "../queues/found.ts";
import { actOnOne } from "./act-on-one.ts";
import { prune } from "./prune.ts";

const dead = endedAs("dead", "do_not_retry");
let prefixes = 0;

/** Acts on one of receiver `a` as another process does; resolves to whether it did. */
async function actsOn(
  { queues, meter }: Pick<Opened, "queues" | "meter">,
  act: Act,
  id: string,
): Promise<boolean> {
  const query = { act, receiver: "a", id, now: Date.now(), by: null };
  return (await actOnOne(queues, () => meter, id, query)) !== null;
}

/** An inbox, the queues of receiver `a` as another process has them, and what that counts. */
async function openOn(address: string) {
  const options = { connection: address, prefix: `shelf_${++prefixes}`, logger: false } as const;
  const opened = await openQueues(options);
  return { ...opened, options, meter: new BacklogMeter(async () => opened.queues) };
}
type Opened = Awaited<ReturnType<typeof openOn>>;

onEachServer((server, { kind }) => {
  const open = async () => {
    const opened = await openOn(server().url);
    const { queues, put, work } = opened;
    /** Finds a delivery that is there. */
    const foundBy = async (id: string): Promise<Found> => {
      const found = await queues.find(id);
      if (found === null) throw new Error("It is there");
      return found;
    };
    const acts = (act: Act, id: string) => actsOn(opened, act, id);
    return {
      ...opened,
      foundBy,
      acts,
      /** Parks one; resolves to its id. */
      async parked() {
        const id = await put();
        await work("verify", valid);
        await work("handle", dead);
        return id;
      },
      /** Discards a delivery as it was found, also when it has changed since. */
      discards(found: Found) {
        const { find } = queues;
        queues.find = async () => {
          queues.find = find;
          return found;
        };
        return acts("discard", found.jobState.stored.id);
      },
    };
  };

  it("release() by a slow process does not delete a delivery that is parked again before it goes on", async () => {
    const { inbox, queues, consume, until, parked, acts } = await open();
    const id = await parked();
    const { jobs } = consume("handle", dead);
    const remove = queues.remove.bind(queues);
    queues.remove = async (...given) => {
      // Time enough for others to work on it, if they can.
      const until = performance.now() + 1_500;
      while (jobs.length === 0 && performance.now() < until) await pause(20);
      await pause(300);
      return remove(...given);
    };
    await acts("release", id);
    await until(() => jobs.length === 1, "it is worked on again");
    await until(async () => (await inbox.get(id))?.state === "dead", "it is parked again");
    expect((await inbox.counts("a")).dead).toBe(1);
  });

  it("two that release() the same delivery at once run it once, and lose nothing", async () => {
    const { inbox, act, consume, until, parked, acts } = await open();
    const id = await parked();
    const { jobs } = consume("handle", dead);
    const both = await Promise.all([
      acts("release", id),
      act("release", { state: "dead" }).then((released) => released === 1),
    ]);
    // The later one may find it on its way already.
    expect(both).toContain(true);
    await until(() => jobs.length === 1, "it is worked on again");
    await until(async () => (await inbox.get(id))?.state === "dead", "it is parked again");
    expect(jobs.length).toBe(1);
  });

  it("find() finds a delivery that moved on while its places were asked", async () => {
    const { queues, parked, acts } = await open();
    const id = await parked();
    const { findIn } = queues;
    let isMoving = true;
    queues.findIn = async (place, asked) => {
      if (!isMoving || place === "handle") return findIn.call(queues, place, asked);
      // Asked after it has left, where the other place was asked before it came.
      if (place === "dead") {
        isMoving = false;
        await acts("release", id);
      }
      return findIn.call(queues, place, asked);
    };
    expect((await queues.find(id))?.place).toBe("handle");
  });

  it("release() of a delivery that another has released says so, also when it is handled by then", async () => {
    const { queues, put, work, parked, acts } = await open();
    const ids = [await parked(), await put()];
    await work("verify", valid);
    await work("handle", handled);
    for (const id of ids) {
      const { find } = queues;
      const found = await queues.find(id);
      // As one that has looked before the other did anything.
      queues.find = async () => copyOf(found);
      expect(await acts("release", id)).toBe(true);
      expect(await acts("release", id)).toBe(false);
      queues.find = find;
    }
  });

  it("release() of a handled delivery that another had handled again meanwhile says so", async () => {
    const { inbox, queues, put, work, acts } = await open();
    const id = await put();
    await work("verify", valid);
    await work("handle", handled);
    const found = copyOf(await queues.find(id));
    await acts("release", id);
    await work("handle", handled);
    const before = await inbox.get(id);
    queues.find = async () => found;
    expect(await acts("release", id)).toBe(false);
    expect(await inbox.get(id)).toEqual(before);
  });

  it.each([
    ["a moment later", false],
    ["just when it is looked for", true],
  ])(
    "release() of a delivery that was only just parked waits until it leaves its queue, %s",
    async (_when, isJustThen) => {
      const { inbox, connection, queues, put, work, consume, until, acts } = await open();
      const id = await put();
      await work("verify", valid);
      const worker = connection.worker(queues.of("handle").name);
      const job = (await worker.getNextJob("parks it")) as DeliveryJob;
      const { jobState } = (await queues.find(id)) as Found;
      Object.assign(jobState.stored, { state: "dead", reason: { code: "poison", message: "" } });
      await queues.add(nextHop(jobState));
      const held = { ...takenFrom("handle", job), token: "parks it" };
      const clear = () => removeFromQueue(queues, held);
      const add = queues.add.bind(queues);
      let isCleared = false;
      queues.add = async (...given) => {
        const added = await add(...given);
        if (isJustThen && !isCleared) await clear();
        isCleared = true;
        return added;
      };
      const released = acts("release", id);
      if (!isJustThen) await pause(200).then(clear);
      expect(await released).toBe(true);
      await worker.close(true);
      const { jobs } = consume("handle", handled);
      await until(async () => (await inbox.get(id))?.state === "handled", "it is handled");
      expect(jobs.length).toBe(1);
    },
  );

  it("release() that comes too late undoes no later record", async () => {
    const { inbox, queues, put, work, acts } = await open();
    const id = await put();
    await work("verify", valid);
    await work("handle", handled);
    const found = await queues.find(id);
    await acts("release", id);
    await work("handle", later(60_000));
    const before = await inbox.get(id);
    queues.find = async () => found;
    expect(await acts("release", id)).toBe(false);
    expect(await inbox.get(id)).toEqual(before);
    expect(before?.attempts).toBe(1);
  });

  it("discard() of a delivery that another has released meanwhile says so, and it is worked on", async () => {
    const { inbox, put, work, parked, acts, discards, foundBy } = await open();
    const ids = [await parked(), await put()];
    await work("verify", endedAs("held", "not_verified"));
    for (const [id, state] of [
      [ids[0] ?? "", "verified"],
      [ids[1] ?? "", "received"],
    ] as const) {
      const found = await foundBy(id);
      await acts("release", id);
      expect(await discards(found)).toBe(false);
      expect((await inbox.get(id))?.state).toBe(state);
      if (state === "received") await work("verify", valid);
      await work("handle", handled);
      expect((await inbox.get(id))?.state).toBe("handled");
    }
  });

  it("discard() of a delivery that another has released meanwhile, or that was parked again since, leaves its copies known", async () => {
    const { add, make, work, acts, discards, foundBy } = await open();
    const delivery = await make();
    const { id } = delivery;
    await add(delivery);
    await work("verify", valid);
    await work("handle", dead);
    const found = await foundBy(id);
    await acts("release", id);
    for (const again of [async () => {}, () => work("handle", dead)]) {
      await again();
      expect(await discards(copyOf(found) as Found)).toBe(false);
      const copy = { ...delivery, id: (await make()).id };
      expect(await add(copy)).toMatchObject({ status: "duplicate", id });
    }
  });

  it("retry() of a delivery that another has had tried, or that has just come due, says so", async () => {
    const { put, queues, work, acts, foundBy } = await open();
    const id = await put();
    await work("verify", later(60_000));
    const found = await foundBy(id);
    queues.find = async () => found;
    found.job.isDelayed = async () => true;
    expect(await acts("retry", id)).toBe(true);
    expect(await acts("retry", id)).toBe(false);
  });

  it("release() wins over discard() of one delivery at the same moment", async () => {
    const { queues, put, work, parked, acts, discards, foundBy } = await open();
    const ids = [await parked(), await put()];
    await work("verify", endedAs("held", "not_verified"));
    const answers: unknown[] = [];
    for (const id of ids) {
      const found = await foundBy(id);
      const remove = queues.remove.bind(queues);
      queues.remove = async (...given) => {
        queues.remove = remove;
        answers.push(await discards(found));
        return remove(...given);
      };
      answers.push(await acts("release", id));
      answers.push((await queues.find(id))?.jobState.stored.state);
    }
    expect(answers).toEqual([false, true, "verified", false, true, "received"]);
  });

  it("release() of a delivery that another deletes before it has put it into its next queue says so", async () => {
    const { inbox, queues, parked, acts, discards, foundBy } = await open();
    const id = await parked();
    const found = await foundBy(id);
    const add = queues.add.bind(queues);
    queues.add = async (...given) => {
      expect(await discards(found)).toBe(true);
      return add(...given);
    };
    expect(await acts("release", id)).toBe(false);
    expect(await inbox.get(id)).toBeNull();
    expect((await inbox.facts("a")).deleted).toEqual({ do_not_retry: 1 });
  });

  it("discard() by several at the same moment counts each delivery once, and loses none", async () => {
    const { inbox, put, work, acts, options } = await open();
    const ids: string[] = [];
    for (let count = 0; count < 20; count++) ids.push(await put());
    await work("verify", ...ids.map(() => endedAs("held", "not_verified")));
    const others = await openQueues(options);
    const meter = new BacklogMeter(async () => others.queues);
    const done = await Promise.all(
      ids.flatMap((id) => [acts("discard", id), actsOn({ ...others, meter }, "discard", id)]),
    );
    expect(done.filter(Boolean).length).toBe(20);
    expect((await inbox.facts("a")).deleted).toEqual({ not_verified: 20 });
  });

  it("discard() of a delivery that was released and parked again since leaves it alone", async () => {
    const { inbox, work, parked, acts, discards, foundBy } = await open();
    const id = await parked();
    const found = await foundBy(id);
    await acts("release", id);
    await work("handle", dead);
    expect(await discards(found)).toBe(false);
    expect((await inbox.get(id))?.state).toBe("dead");
    expect((await inbox.facts("a")).deleted).toEqual({});
  });

  it("discard() deletes no delivery that is released, worked on and parked again while it looks for that", async () => {
    const { inbox, queues, work, parked, acts, discards, foundBy } = await open();
    const id = await parked();
    const found = await foundBy(id);
    const findIn = queues.findIn.bind(queues);
    queues.findIn = async (place, asked) => {
      if (place !== "handle") return findIn(place, asked);
      queues.findIn = findIn;
      await acts("release", id);
      const there = await findIn(place, asked);
      await work("handle", dead);
      return there;
    };
    expect(await discards(found)).toBe(false);
    expect((await inbox.get(id))?.state).toBe("dead");
  });

  it("discard() has counted a delivery by the moment at which it is gone", async () => {
    const { inbox, connection, parked, acts } = await open();
    const id = await parked();
    const { removeJob } = connection;
    const seen: unknown[] = [];
    connection.removeJob = async (...given) => {
      const isRemoved = await removeJob(...given);
      const { parked, deleted } = await inbox.facts("a");
      seen.push([parked, deleted]);
      return isRemoved;
    };
    await acts("discard", id);
    expect(seen).toEqual([[[], { do_not_retry: 1 }]]);
  });

  it.runIf(kind === "redis")(
    "discard() counts those of a step that are done, although the server fails at another",
    async () => {
      const { inbox, act, put, work, queues } = await open();
      const ids = [await put(), await put(), await put()];
      await work("verify", ...ids.map(() => endedAs("held", "not_verified")));
      const client = new Redis(server().url);
      const key = queues.of("held").toKey(ids[1] ?? "");
      await client.multi().del(key).set(key, "of another type").exec();
      client.disconnect();
      await expect(act("discard", { state: "held" })).rejects.toThrow(
        "Before that 2 were discarded",
      );
      expect((await inbox.acts())[0]?.count).toBe(2);
    },
  );

  it.runIf(kind === "redis")(
    "release() that the server refuses rejects inbox_failed, and shows nothing of the delivery",
    async () => {
      const opened = await open();
      const id = await opened.parked();
      const client = new Redis(server().url);
      await client.set(opened.queues.of("handle").toKey("wait"), "of another type");
      client.disconnect();
      const error: unknown = await opened
        .act("release", { state: "dead" })
        .catch((thrown) => thrown);
      expect(error).toMatchObject({ code: "inbox_failed" });
      // An error of ioredis has the command, and in it the body.
      expect(inspect(error, { depth: 9, maxStringLength: null })).not.toContain(id);
    },
  );

  it("a job that a crash in release() left behind is cleared away before it is worked on", async () => {
    const { inbox, queues, work, parked, foundBy } = await open();
    const id = await parked();
    const found = await foundBy(id);
    Object.assign(found.jobState.stored, { state: "verified", released: true, attempts: 0 });
    await queues.add(nextHop(found.jobState));
    await work("handle", endedAs("dead", "schema_mismatch"));
    const entry = await inbox.get(id);
    expect(entry?.reason?.code).toBe("schema_mismatch");
    expect(entry?.history.length).toBe(3);
  });

  it("retry() of a delivery that is in work meanwhile brings nothing back", async () => {
    const { put, queues, work, acts } = await open();
    const id = await put();
    await work("verify", later(60_000));
    const queue = queues.of("verify");
    const getJob = queue.getJob.bind(queue);
    queue.getJob = async (name) => {
      const job = await getJob(name);
      const isDelayed = job?.isDelayed.bind(job);
      if (job !== undefined && isDelayed !== undefined) {
        job.isDelayed = async () => {
          const was = await isDelayed();
          await job.promote();
          await work("verify", endedAs("rejected", "invalid_signature"));
          return was;
        };
      }
      return job;
    };
    expect(await acts("retry", id)).toBe(false);
    queue.getJob = getJob;
    const found = await queues.find(id);
    expect([found?.jobState.stored.state, found?.jobState.stored.history.at(-1)]).toEqual([
      "rejected",
      expect.objectContaining({ outcome: "rejected" }),
    ]);
  });

  it("a rejected delivery that is retried while its content is dropped keeps it", async () => {
    const { inbox, act, connection, queues, put, work } = await open();
    const id = await put();
    await work("verify", endedAs("rejected", "invalid_signature"));
    await put();
    const verify = queues.of("verify");
    const worker = connection.worker(verify.name);
    const job = (await worker.getNextJob("rejects it")) as DeliveryJob;
    const held = { ...takenFrom("verify", job), token: "rejects it" };
    held.jobState.stored.state = "rejected";
    // As if it were the first beyond those that keep their content.
    verify.getRanges = async () => [id];
    const findIn = queues.findIn.bind(queues);
    queues.findIn = async (place, asked) => {
      const found = await findIn(place, asked);
      expect(await act("retry", { state: "rejected", idPrefix: id })).toBe(1);
      return found;
    };
    await settle(queues, held, "rejected");
    await worker.close(true);
    const entry = await inbox.get(id);
    expect([entry?.state, typeof entry?.body]).toEqual(["received", "string"]);
  });

  it("a rejected delivery keeps its content if that is dropped just before it waits again", async () => {
    const { inbox, meter, queues, put, work, foundBy } = await open();
    const id = await put();
    await work("verify", endedAs("rejected", "invalid_signature"));
    const found = await foundBy(id);
    const { backend } = queues.of("verify");
    const update = backend.updateData.bind(backend);
    backend.updateData = async (...given) => {
      await update(...given);
      await queues.dropContent(found);
    };
    const query = {
      act: "retry",
      receiver: "a",
      state: "rejected",
      now: Date.now(),
      by: null,
    } as const;
    expect(await actOnOne(queues, () => meter, id, query)).not.toBeNull();
    const entry = await inbox.get(id);
    expect([entry?.state, typeof entry?.body]).toEqual(["received", "string"]);
  });

  it.runIf(kind === "redis")(
    "prune() ends, though the server has lost the content of parked deliveries",
    async () => {
      const { inbox, queues, put, work, patiently } = await open();
      const ids: string[] = [];
      for (let count = 0; count < 100; count++) ids.push(await put());
      await work("verify", ...ids.map(() => endedAs("dead", "not_understood")));
      const client = new Redis(server().url);
      await client.del(...ids.map((id) => queues.of("dead").toKey(id)));
      client.disconnect();
      await patiently(inbox.prune(new Date()), "prune()");
    },
  );

  it("prune() takes no delivery for another that is gone since it asked", async () => {
    const { inbox, act, queues, put, work } = await open();
    const gone = await put({ signature: null, arrival: unsigned });
    const kept = await put();
    await work("verify", endedAs("held", "expired"));
    const held = queues.of("held");
    const getRanges = held.getRanges.bind(held);
    held.getRanges = async (...args) => {
      await act("discard", gone);
      held.getRanges = getRanges;
      return getRanges(...args);
    };
    const retention = { handledMs: 7 * dayMs, parkedMs: 30 * dayMs };
    const lost: string[] = [];
    const tellLost = (id: string): void => void lost.push(id);
    const pruned = new PruneCount(retention);
    const pruning = { retention, pruned, tellLost };
    await prune(queues, { ...pruning, now: Date.now() + 25 * 3_600_000 });
    expect((await inbox.get(kept))?.state).toBe("held");
    const getJob = held.getJob.bind(held);
    held.getJob = async (id) => {
      if ((await getJob(id)) !== undefined) await act("discard", id).catch(() => {});
      return getJob(id);
    };
    await prune(queues, { ...pruning, now: Date.now() + 31 * dayMs });
    expect([lost, pruned.deleted, pruned.announced]).toEqual([[], {}, {}]);
  });

  it("discard() also removes the job that a crash has left in the queue before", async () => {
    const { inbox, act, queues, put, work, consume, foundBy } = await open();
    const id = await put();
    await work("verify", valid);
    const left = await foundBy(id);
    left.jobState.stored.state = "dead";
    left.jobState.stored.reason = { code: "do_not_retry", message: "no" };
    await queues.add(nextHop(left.jobState));
    await act("discard", id);
    expect(await inbox.get(id)).toBeNull();
    const { jobs } = consume("handle", handled);
    await pause(300);
    expect(jobs).toEqual([]);
  });

  // Redis lets a key expire.
  if (kind === "postgres") {
    it("prune() deletes dedupe keys whose 24 hours are over", async () => {
      const { inbox, put, work, queues } = await open();
      for (let count = 0; count < 3; count++) await put();
      await work("verify", valid, valid, valid);
      await inbox.prune(new Date());
      const keys = async (): Promise<unknown> => {
        const connection = new PostgresConnection({ connectionString: server().url });
        const sql = "SELECT count(*)::int AS count FROM bullmq.dedup WHERE queue = $1";
        const { rows } = await connection.pool.query(sql, [queues.of("verify").name]);
        await connection.close();
        return rows;
      };
      expect(await keys()).toEqual([{ count: 3 }]);
      await inbox.prune(new Date(Date.now() + 25 * 3_600_000));
      expect(await keys()).toEqual([{ count: 0 }]);
    });
  }
});

/** A copy, as if it were found again: a release changes the object that was found. */
function copyOf(found: Found | null): Found | null {
  return found && { ...found, jobState: structuredClone(found.jobState) };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
