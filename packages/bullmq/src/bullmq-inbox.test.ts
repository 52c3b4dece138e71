import type { Inbox, Outcome } from "@reporthook/core";
import { actOn, dayMs, isAttempt, sumOf } from "@reporthook/core/store";
import { fixtureOf } from "@reporthook/test-support/fixture";
import { openQueues } from "@reporthook/test-support/queues";
import { onEachServer } from "@reporthook/test-support/servers";
import { standingProcess } from "@reporthook/test-support/standing/process";
import { inboxContract } from "@reporthook/testing";
import {
  endedAs,
  handled,
  later,
  unsigned,
  unsignedTest,
  valid,
} from "@reporthook/testing/internals";
import { expect, it, test } from "vitest";
import { type BullmqInboxOptions, bullmqInbox, queueNames } from "./index.ts";
import { nextHop } from "./process/settle.ts";

const patienceMs = 60_000;
const { guarantees } = bullmqInbox({ connection: "redis://127.0.0.1" });
/** The leases of another process, which expire soon. */
const shortMs = 310.5;
let prefixes = 0;

onEachServer((server, { kind }) => {
  const options = (rest: Partial<BullmqInboxOptions> = {}) => ({
    connection: server().url,
    logger: false as const,
    ...rest,
    prefix: `test_${++prefixes}`,
  });
  const open = () => bullmqInbox(options());
  const standing = new URL("../../../test/support/standing/bullmq.ts", import.meta.url);
  const standStill = ({ identity }: Inbox) =>
    standingProcess(standing, `${server().url} ${String(identity).split(":").at(-1)}`);
  const contract = { open, guarantees, patienceMs, standStill, keepsRequests: kind === "redis" };
  for (const { name, run } of inboxContract(contract)) test(name, run);

  it("two inboxes on one server see each other's deliveries, and store a copy once", async () => {
    const given = options();
    const [left, right] = [fixtureOf(bullmqInbox(given)), fixtureOf(bullmqInbox(given))];
    const parts = { signature: "s", body: "{}" };
    const id = await left.put(parts);
    expect(await right.add(await right.make(parts))).toEqual({ status: "duplicate", id });
    await right.put({ receiver: "b" });
    expect((await left.inbox.counts()).received).toBe(2);
    const { jobs } = left.consume("verify", valid);
    await right.until(async () => (await right.inbox.get(id))?.state === "verified", "verified");
    expect(jobs.map((job) => job.id)).toEqual([id]);
  });

  it("a call on a closed inbox comes to an end, and opens nothing again", async () => {
    const sockets = () =>
      process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
    const before = sockets();
    const given = options();
    for (let waitedMs = 0; waitedMs < 40; waitedMs++) {
      const inbox = bullmqInbox(given);
      await inbox.open();
      const id = "0".repeat(26);
      const one = { act: "release", receiver: "a", id, now: Date.now(), by: null } as const;
      const asked = [inbox.list(), inbox.counts("a"), inbox.get(id), actOn(inbox, one)];
      const answers = Promise.allSettled([...asked, inbox.prune(new Date())]);
      await new Promise((resolve) => setTimeout(resolve, waitedMs));
      await inbox.close();
      for (const answer of await answers) {
        if (answer.status === "rejected")
          expect(answer.reason).toMatchObject({
            code: expect.stringMatching(/^(inbox_failed|not_found)$/),
          });
      }
    }
    // A connection that stays keeps the process. Sockets of earlier tests may have ended meanwhile.
    await expect.poll(sockets).toBeLessThanOrEqual(before);
  });

  it("an act that close() cuts off is among the acts, with what it has counted", async () => {
    const given = options();
    const { inbox, put } = fixtureOf(bullmqInbox(given));
    const query = { receiver: "a", state: "held", act: "discard", by: "ada" } as const;
    let began = 0;
    for (const waitedMs of [0, 4, 8, 16]) {
      await Promise.all(
        Array.from({ length: 150 }, () => put({ signature: null, arrival: unsigned })),
      );
      const { held } = await inbox.counts("a");
      const other = bullmqInbox(given);
      const steps = other.act({ ...query, now: Date.now() })[Symbol.asyncIterator]();
      const first = sumOf((await steps.next()).value.counts);
      const next = steps.next().catch((error: unknown) => error);
      await new Promise((resolve) => setTimeout(resolve, waitedMs));
      await other.close();
      await next;
      const discarded = held - (await inbox.counts("a")).held;
      const acts = await inbox.acts();
      expect(acts).toHaveLength(++began);
      expect(acts[0]).toMatchObject({ by: "ada", act: "discard" });
      expect(acts[0]?.count).toBeGreaterThanOrEqual(first);
      expect(acts[0]?.count).toBeLessThanOrEqual(discarded);
    }
  });

  it("a call for a receiver that is none makes none known", async () => {
    const given = options();
    const { inbox, act, put, connection } = await openQueues(given, shortMs);
    const id = await put();
    for (const one of ["release", "discard"] as const) {
      const acting = act(one, id, { receiver: "typo" });
      await expect(acting).rejects.toMatchObject({ code: "not_found" });
    }
    expect(await inbox.list({ receiver: "typo" })).toEqual([]);
    const known = await connection.queue(`${given.prefix}-receivers`).getJobs(["wait"]);
    expect(known.map(({ data }) => data)).toEqual([{ receiver: "a" }]);
  });

  it("a delivery that begins verified or held is told from its copies too, and is stored once", async () => {
    const { inbox, act, put, make, add, consume, until } = fixtureOf(open());
    const to = { verified: valid, held: endedAs("held", "expired", { verification: "expired" }) };
    const ids: string[] = [];
    for (const [signature, arrival] of Object.entries(to)) {
      const id = await put({ signature, body: "{}", arrival: arrival as never });
      expect((await inbox.get(id))?.state).toBe(signature);
      const copy = await make({ signature, body: "{}" });
      expect(await add(copy)).toEqual({ status: "duplicate", id });
      ids.push(id);
    }
    const [verifying, handling] = [consume("verify", valid), consume("handle", handled)];
    const all = { received: 0, verified: 0, handled: 1, held: 1, rejected: 0, dead: 0 };
    await until(async () => {
      const counts = await inbox.counts("a");
      return JSON.stringify(counts) === JSON.stringify(all);
    }, "what announced them is gone");
    expect(verifying.jobs).toEqual([]);
    expect(handling.jobs.map(({ id }) => id)).toEqual([ids[0]]);
    await act("discard", ids[1] ?? "");
    await put({ signature: "held", body: "{}" });
  });

  it("a crash between the two halves of going on loses nothing and asks for no second verdict", async () => {
    const { inbox, put, consume, until, connection, queues } = await openQueues(
      options({ leaseMs: 4_000 }),
      shortMs,
    );
    const id = await put();
    const worker = connection.worker(queues.of("verify").name);
    const job = await worker.getNextJob("one that dies");
    expect(job?.id).toBe(id);
    const found = await queues.find(id);
    if (found === null) throw new Error("It is there");
    Object.assign(found.jobState.stored, { state: "verified", stage: "handle" });
    await queues.add(nextHop(found.jobState));
    await worker.close(true);

    const handling = consume("handle", handled);
    await until(async () => (await inbox.get(id))?.state === "handled", "it is handled");
    const verifying = consume("verify", valid);
    await until(async () => (await inbox.counts("a")).received === 0, "the rest is cleared away");
    expect(verifying.jobs).toEqual([]);
    expect(handling.jobs.length).toBe(1);
    expect((await inbox.counts("a")).verified).toBe(0);
  });

  it("a job that a process worked on when it died is taken back, and parked as poison the sixth time", async () => {
    const { inbox, act, put, consume, until, connection, queues } = await openQueues(
      options({ leaseMs: 4_000 }),
      shortMs,
    );
    const id = await put();
    const worker = connection.worker(queues.of("verify").name);
    await worker.startStalledCheckTimer();
    let taken = 0;
    while (taken < 5) if ((await worker.getNextJob(`token ${taken}`)) !== undefined) taken++;
    await until(async () => (await queues.of("verify").count()) > 0, "it is free");
    await worker.close(true);
    const { jobs } = consume("verify", valid);
    await until(async () => (await inbox.get(id))?.state === "dead", "it is parked");
    expect((await inbox.get(id))?.reason?.code).toBe("poison");
    expect(jobs).toEqual([]);
    await act("release", id);
    await until(() => jobs.length > 0, "a person may try it again");
  });

  it("no job carries a signature once there is a verdict", async () => {
    const { put, work, queues } = await openQueues(options(), shortMs);
    const secret = "a-signature-of-the-service";
    const outcomes: Outcome[] = [valid, endedAs("held", "expired", { verification: "expired" })];
    const ids: string[] = [];
    for (const index of outcomes.keys()) ids.push(await put({ signature: `${secret} ${index}` }));
    const written = async (): Promise<string> =>
      JSON.stringify(await Promise.all(ids.map((id) => queues.find(id))));
    expect(await written()).toContain(secret);
    await work("verify", ...outcomes);
    expect(await written()).not.toContain(secret);
  });

  it("a rejected delivery with a body over 16 KiB keeps none: BullMQ can't add up how much they take", async () => {
    const { inbox, put, work } = fixtureOf(bullmqInbox(options()));
    const id = await put({ body: "a".repeat(17_000) });
    await work("verify", endedAs("rejected", "invalid_signature"));
    expect(await inbox.get(id)).toMatchObject({ state: "rejected", body: null });
  });

  it("backlog() counts a delivery without a signature that waits for a retry, as long as it waits", async () => {
    const given = options();
    const [left, right] = [fixtureOf(bullmqInbox(given)), fixtureOf(bullmqInbox(given))];
    await left.put(unsignedTest);
    await left.work("handle", later(60_000));
    const load = () => left.inbox.backlog("a");
    expect(load().unsignedWaiting).toBe(1);
    await right.put();
    await left.until(() => load().waiting === 2, "it has counted again");
    expect(load().unsignedWaiting).toBe(1);
    const [entry] = await right.inbox.list({ state: "verified" });
    await left.act("retry", entry?.id ?? "");
    await left.work("handle", handled);
    await right.put();
    await left.until(() => load().waiting === 2, "it has counted once more");
    expect(load().unsignedWaiting).toBe(0);
  });

  it("a delivery keeps text that PostgreSQL's JSON refuses", async () => {
    const { inbox, put, work } = fixtureOf(open());
    const odd = "a\0b\ud800 é";
    const id = await put({ body: `{"x":"${"\0"}"}`, url: "/?a=\\u0000", context: odd });
    await work("verify", { ...valid, type: "report.complete", reportId: odd });
    const [job] = await work("handle", later(0, { error: odd }));
    expect([job?.reportId, job?.context]).toEqual([odd, odd]);
    await work("handle", { to: "handled", reportId: odd });
    const entry = await inbox.get(id);
    expect([entry?.reportId, entry?.body]).toEqual([odd, `{"x":"${"\0"}"}`]);
    expect(entry?.history.filter(isAttempt).map(({ error }) => error)).toEqual([null, odd, null]);
  });

  it("list() looks for events and reports among parked deliveries, and says so of the rest", async () => {
    const { inbox, put, work } = fixtureOf(open());
    const id = await put();
    await work("verify", valid);
    await work("handle", endedAs("dead", "do_not_retry"));
    const found = async (query: Parameters<typeof inbox.list>[0]) =>
      (await inbox.list(query)).map((entry) => entry.id);
    expect(await found({ state: "parked", reportId: "r-1" })).toEqual([id]);
    expect(await found({ reason: "do_not_retry", type: "report.complete" })).toEqual([id]);
    expect(await found({ reason: "do_not_retry", state: "held" })).toEqual([]);
    for (const query of [{ reportId: "r-1" }, { type: "unknown", state: "handled" }] as const) {
      await expect(inbox.list(query)).rejects.toMatchObject({ code: "not_searchable" });
    }
  });

  it("prune() deletes deliveries over their time, parked for any reason", async () => {
    const { inbox, put, work } = fixtureOf(
      bullmqInbox(options({ retention: { handledMs: 1, parkedMs: 1 } })),
    );
    const unsigned = endedAs("held", "unsigned", { verification: "unsigned" });
    await put({ signature: null, arrival: unsigned as never });
    await put(unsignedTest);
    await put(unsignedTest);
    await work("handle", handled, endedAs("dead", "do_not_retry"));
    for (let count = 0; count < 3; count++) await put();
    await work("verify", valid, valid, endedAs("held", "expired"));
    await work("handle", handled, endedAs("dead", "do_not_retry"));
    await new Promise((resolve) => setTimeout(resolve, 10));
    const prune = async (ms: number, dryRun = false) => {
      const { deleted, parked, announced } = await inbox.prune(new Date(Date.now() + ms), {
        dryRun,
      });
      return { deleted, parked, announced };
    };
    const none = { deleted: {}, parked: {}, announced: {} };
    const two = { expired: 1, do_not_retry: 1 };
    for (const dryRun of [true, false]) {
      const { deleted, announced } = await prune(0, dryRun);
      // With the dedupe key of a verified one its job stays a day; those handled elsewhere are gone.
      expect({ deleted, announced }).toEqual({ deleted: { handled: 1 }, announced: two });
    }
    const gone = { deleted: { held: 1, dead: 1 }, parked: two, announced: {} };
    for (const dryRun of [true, false]) expect(await prune(1_000, dryRun)).toEqual(gone);
    const left24h = { received: 0, verified: 0, handled: 1, held: 1, rejected: 0, dead: 1 };
    expect(await inbox.counts()).toEqual(left24h);
    expect(await prune(23 * 3_600_000)).toEqual(none);
    const rest = { ...none, deleted: { held: 1, handled: 1, dead: 1 } };
    for (const dryRun of [true, false]) expect(await prune(25 * 3_600_000, dryRun)).toEqual(rest);
  });

  it("prune() announces parked deliveries 3 days before their end, oldest first, also when they are many", async () => {
    const { inbox, act, put, work } = fixtureOf(bullmqInbox(options()));
    const park = async (count: number): Promise<string[]> => {
      const ids: string[] = [];
      for (let made = 0; made < count; made++) ids.push(await put());
      await work(
        "verify",
        ...ids.map(() => endedAs("held", "expired", { verification: "expired" })),
      );
      return ids;
    };
    const [first = ""] = await park(120);
    const began = Date.now();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await park(3);
    const at = (days: number): Date => new Date(began + days * dayMs);
    expect((await inbox.prune(at(26.9))).announced).toEqual({});
    expect((await inbox.prune(at(27), { dryRun: true })).announced).toEqual({ expired: 120 });
    expect((await inbox.prune(at(27))).announced).toEqual({ expired: 120 });
    expect((await inbox.prune(at(27.1), { dryRun: true })).announced).toEqual({ expired: 3 });
    expect((await inbox.prune(at(27.1))).announced).toEqual({ expired: 3 });
    expect(await inbox.prune(at(29.9))).toMatchObject({ deleted: {}, announced: {} });
    expect((await inbox.list({ reason: "expired", limit: 1 }))[0]?.id).toBe(first);
    expect(await act("discard", first)).toBe(1);
    expect((await inbox.prune(at(30.05))).parked).toEqual({ expired: 119 });
    expect((await inbox.prune(at(30.2))).parked).toEqual({ expired: 3 });
  });

  it("bullmqInbox() keeps the app's retention on the server: a tool prunes by it", async () => {
    const given = options({ retention: { parkedMs: 90 * dayMs, handledMs: Infinity } });
    const app = fixtureOf(bullmqInbox(given));
    await app.inbox.open();
    await app.put();
    await app.work("verify", endedAs("held", "expired", { verification: "expired" }));
    const { retention: _, ...others } = given;
    const tool = bullmqInbox(others);
    const after = (days: number): Date => new Date(Date.now() + days * dayMs);
    expect(await tool.prune(after(86))).toMatchObject({ announced: {}, noticeMs: 3 * dayMs });
    expect((await tool.prune(after(88))).announced).toEqual({ expired: 1 });
    const again = bullmqInbox({ ...given, retention: { parkedMs: 100 * dayMs } });
    await again.open();
    expect((await tool.prune(after(99))).deleted).toEqual({});
    await again.close();
    await tool.close();
  });

  it("queueNames() names the queues for BullMQ's own tools", async () => {
    const given = options();
    const { put, work, connection } = await openQueues(given, shortMs);
    await put();
    await put();
    await work("verify", endedAs("held", "not_verified"));
    const counts = await Promise.all(
      queueNames("a", given.prefix).map((name) => connection.queue(name).count()),
    );
    expect(counts).toEqual([1, 0, 1, 0, 0]);
  });
});
