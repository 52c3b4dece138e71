import {
  gate,
  setUp,
  slowRequest,
  standStill,
  turns,
} from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";

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
      ...{ status: 200, body: { status: "accepted", id: runs[0] } },
    });
    expect(runs).toHaveLength(2);
  });

  it('ack: "handled" answers a copy 503 when its own time is used up', async () => {
    standStill();
    const { receiver, emulator, post } = setUp({ ack: "handled", limits: { ackMs: 3_000 } });
    receiver.on("report", () => new Promise(() => {}));
    const notification = emulator.notification("report.complete");
    const answers = [post(notification), post(notification)];
    await turns();
    emulator.clock.advance(3_000);
    for (const { status } of await Promise.all(answers)) expect(status).toBe(503);
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
  it('ack: "handled" answers in time although the clock is set back an hour while the body is read', async () => {
    const clock = manualClock();
    let shift = 0;
    const { receiver } = setUp({
      ack: "handled",
      client: { authorize: () => new Promise(() => {}) },
      clock: { ...clock, now: () => clock.now() + shift },
    });
    const body = gate();
    let status = 0;
    const answer = receiver.fetch(slowRequest(body.opened)).then((response) => {
      status = response.status;
    });
    await turns();
    clock.advance(1_000);
    shift = -3_600_000;
    clock.advance(900);
    body.open();
    await turns();
    clock.advance(2_099);
    await turns();
    expect(status).toBe(0);
    clock.advance(1);
    await turns();
    expect(status).toBe(503);
    await answer;
  });
});
