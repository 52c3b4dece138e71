import { memoryInbox, type ReceiverOptions } from "@reporthook/core";
import {
  gate,
  hasSettled,
  never,
  setUp,
  slowRequest,
  turns,
} from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import { messages } from "../log-messages.ts";

it('ack: "handled" answers 404 to a genuine notification at the URL of a request that it does not know', async () => {
  const secrets = ["0123456789abcdef0123456789abcdef"];
  const callback = { secrets, url: "https://app.example/hook" };
  const earlier = setUp({ name: "mine", callback });
  await earlier.receiver.reports.request({ domains: ["example.com"] });
  const [asked] = earlier.emulator.reports.list();
  await earlier.receiver.close();
  const { emulator, receiver, lines } = setUp({
    name: "mine",
    ack: "handled",
    callback: { secrets, require: true },
  });
  receiver.on("report", () => {});
  const notification = emulator.notification("report.complete");
  const response = await receiver.fetch(new Request(asked?.webhookUrl ?? "", notification));
  expect([response.status, await response.json()]).toMatchObject([404, { code: "not_found" }]);
  expect(lines.map(({ message }) => message)).not.toContain(messages.expiredNotHeld);
});

it('ack: "handled" names each genuine notification that was not handled in time, for nothing else does', async () => {
  const { receiver, emulator, send, lines } = setUp({ ack: "handled", limits: { ackMs: 3_000 } });
  receiver.on("report", never);
  const answers = [send("report.complete"), send("report.processing")];
  await turns();
  emulator.clock.advance(3_000);
  for (const answer of answers) expect(await answer).toMatchObject({ status: 503 });
  const named = lines.filter(({ message }) => message === messages.notHandledInTime);
  expect(new Set(named.map(({ fields }) => fields["id"])).size).toBe(2);
});

describe("copies of one notification", () => {
  it('ack: "handled" runs the handlers once for copies at once, which are duplicates of the first', async () => {
    const { receiver, emulator, post, observed } = setUp({ ack: "handled" });
    const release = gate();
    const runs: string[] = [];
    receiver.on("report", ({ id }) => {
      runs.push(id);
      return release.opened;
    });
    const notification = emulator.notification("report.complete");
    const answers = [1, 2, 3].map(() => post(notification));
    await turns();
    expect(runs).toHaveLength(1);
    release.open();
    const bodies = (await Promise.all(answers)).map(({ status, body }) => [status, body]);
    const [id] = runs;
    expect(bodies).toEqual([
      [200, { status: "accepted", id }],
      [200, { status: "duplicate", id }],
      [200, { status: "duplicate", id }],
    ]);
    expect(observed.filter(([name]) => name === "handled")).toHaveLength(1);
  });

  it('ack: "handled" answers all copies 503 when the handlers fail, and runs again for a later copy', async () => {
    const { receiver, emulator, post } = setUp({ ack: "handled" });
    const release = gate();
    const runs: string[] = [];
    receiver.on("report", async ({ id }) => {
      runs.push(id);
      await release.opened;
      if (runs.length === 1) throw new Error("no");
    });
    const notification = emulator.notification("report.complete");
    const answers = [1, 2].map(() => post(notification));
    await turns();
    release.open();
    for (const { status, body } of await Promise.all(answers)) {
      expect([status, body.code]).toEqual([503, "not_handled"]);
    }
    expect(await post(notification)).toMatchObject({
      status: 200,
      body: { status: "accepted", id: runs[0] },
    });
    expect(runs).toHaveLength(2);
  });

  it('ack: "handled" answers a copy 503 when its own time is used up', async () => {
    const { receiver, emulator, post } = setUp({ ack: "handled", limits: { ackMs: 3_000 } });
    receiver.on("report", never);
    const notification = emulator.notification("report.complete");
    const answers = [post(notification), post(notification)];
    await turns();
    emulator.clock.advance(3_000);
    for (const { status } of await Promise.all(answers)) expect(status).toBe(503);
  });

  it('ack: "handled" answers a copy whose body came later than the whole of the next one in its own time', async () => {
    const clock = manualClock();
    const client = { authorize: async () => "valid" as const };
    const { receiver, pass } = setUp({ ack: "handled", clock, client });
    receiver.on("*", never);
    const body = gate();
    const answered: string[] = [];
    const send = (name: string, arrival: Promise<void>) =>
      receiver.fetch(slowRequest(arrival)).then(() => answered.push(name));
    const answers = [send("slow", body.opened)];
    clock.advance(1_000);
    answers.push(send("quick", Promise.resolve()));
    await turns();
    body.open();
    await turns();
    await pass(3_000);
    const inTime = [...answered];
    clock.advance(1_000);
    await Promise.all(answers);
    expect([inTime, answered]).toEqual([["slow"], ["slow", "quick"]]);
  });

  it('ack: "handled" runs for each copy that came without a signature', async () => {
    const { emulator, post, seen, seeAll } = setUp({ ack: "handled" });
    seeAll();
    const notification = emulator.notification("test_webhook_endpoint", { signature: "none" });
    const answers = await Promise.all([1, 2].map(() => post(notification)));
    expect(answers.map(({ body }) => body.status)).toEqual(["accepted", "accepted"]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(2);
  });
});

describe("time", () => {
  /** Sends a notification whose body is read while the clock is set back an hour; the whole of it is there after 1.9 s. */
  async function sendWhileSetBack(options: Partial<ReceiverOptions>) {
    const clock = manualClock();
    let shift = 0;
    const { receiver, pass } = setUp({
      ...options,
      clock: { ...clock, now: () => clock.now() + shift },
    });
    let signal: AbortSignal | undefined;
    receiver.on("*", (_, given) => {
      signal = given.signal;
      return new Promise(() => {});
    });
    const body = gate();
    const answer = receiver.fetch(slowRequest(body.opened));
    await turns();
    clock.advance(1_000);
    shift = -3_600_000;
    clock.advance(900);
    body.open();
    await turns();
    return { pass, answer, isAborted: () => signal?.aborted };
  }

  const silent = { authorize: never };

  it('ack: "handled" answers in time although the clock is set back while the body is read, and aborts the handlers', async () => {
    for (const client of [silent, { authorize: async () => "valid" as const }]) {
      const { pass, answer, isAborted } = await sendWhileSetBack({ ack: "handled", client });
      await pass(2_099);
      expect(await hasSettled(answer)).toBe(false);
      await pass(1);
      expect((await answer).status).toBe(503);
      expect(isAborted()).toBe(client === silent ? undefined : true);
    }
  });

  it("before-ack stores in time although the call that was given up ends while it stores", async () => {
    const clock = manualClock();
    const asked = gate();
    const inbox = Object.assign(memoryInbox(), { add: never });
    const { receiver, pass } = setUp({
      verify: "before-ack",
      autostart: false,
      clock,
      inbox,
      client: { authorize: () => asked.opened.then(() => "valid" as const) },
    });
    const answer = receiver.fetch(slowRequest(Promise.resolve()));
    await turns();
    await pass(2_500);
    asked.open();
    await turns();
    await pass(1_500);
    expect((await answer).status).toBe(503);
  });

  it("before-ack answers in time although the clock is set back while the body is read", async () => {
    const options = { verify: "before-ack", autostart: false, client: silent } as const;
    const { pass, answer } = await sendWhileSetBack(options);
    await pass(2_100);
    expect((await answer).status).toBe(200);
  });
});
