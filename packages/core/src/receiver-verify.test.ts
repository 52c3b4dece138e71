import { answeredWith } from "@reporthook/test-support/jobs";
import { setUp, turns, turnUntil } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it } from "vitest";
import type { Authorizer } from "./client/authorizer.ts";
import type { Verdict } from "./client/client.ts";

describe("verification", () => {
  it("a receiver rejects a forged notification and runs no handler", async () => {
    const { receiver, send, seen, seeAll, observed } = setUp();
    seeAll();
    const { status, body } = await send("report.complete", { signature: "invalid" });
    await receiver.idle();
    expect(status).toBe(200);
    expect(seen).toEqual([]);
    expect(await receiver.inbox.get(body.id)).toMatchObject({
      state: "rejected",
      reason: { code: "invalid_signature" },
      type: null,
      lastError: null,
    });
    expect(observed.map(([name]) => name)).toEqual(["acknowledged", "verified"]);
  });

  it("a receiver holds an expired notification, and handles it as expired after a release", async () => {
    const { receiver, send, seen, seeAll, lines } = setUp();
    seeAll();
    const { body } = await send("report.complete", { signature: "expired" });
    await receiver.idle();
    expect(await receiver.inbox.get(body.id)).toMatchObject({
      state: "held",
      reason: {
        code: "expired",
        message: expect.stringMatching(/ Release it if you trust it\.$/),
      },
    });
    expect(lines).toMatchObject([{ level: "warn", fields: { id: body.id, reason: "expired" } }]);
    expect(seen).toEqual([]);
    await receiver.inbox.release(body.id);
    await receiver.idle();
    expect(seen).toMatchObject([{ id: body.id, verification: "expired" }]);
  });

  it.each([
    ["500", { status: 500 }],
    ["401", { status: 401 }],
    ["429", { status: 429 }],
    ["a status that the document does not list", { status: 204 }],
    ["a redirect", { status: 302 }],
    ["no connection", { drop: true }],
  ])("a receiver goes on asking when the answer is %s, and succeeds later", async (_, fault) => {
    const { receiver, emulator, send, seen, seeAll, advanceUntil, pass } = setUp();
    seeAll();
    const end = emulator.fault("authorize", fault);
    const { body } = await send("report.complete");
    await turns();
    expect(await receiver.inbox.get(body.id)).toMatchObject({ state: "received" });
    await pass(5_000);
    expect(await receiver.inbox.get(body.id)).toMatchObject({ state: "received" });
    expect(seen).toEqual([]);
    end();
    await advanceUntil(() => seen.length > 0);
    expect(seen).toMatchObject([{ id: body.id, verification: "valid" }]);
  });

  it("a receiver goes on asking when authorize never answers or gives garbage", async () => {
    const answers = [() => new Promise(() => {}), async () => "perhaps", async () => "valid"];
    const client = { authorize: () => answers.shift()?.() } as unknown as Authorizer;
    const { send, seen, seeAll, advanceUntil, receiver } = setUp({ client });
    seeAll();
    const { body } = await send("report.complete");
    await advanceUntil(() => seen.length > 0);
    expect(await receiver.inbox.get(body.id)).toMatchObject({
      history: [
        { outcome: "retry", error: "Error: authorize gave no answer within 30000 ms" },
        { outcome: "retry", error: expect.stringContaining("must resolve to") },
        { outcome: "verified" },
        { outcome: "handled" },
      ],
    });
  });

  it("a receiver pauses all verification at 401, with one line a minute and no attempts, and recovers", async () => {
    let refusing = true;
    let calls = 0;
    const client: Authorizer = {
      async authorize() {
        calls++;
        if (!refusing) return "valid";
        throw answeredWith(401);
      },
    };
    const { send, seen, seeAll, receiver, lines, advanceUntil, pass } = setUp({ client });
    seeAll();
    for (let sent = 0; sent < 40; sent++) await send("report.complete");
    await turns();
    const afterFirst = calls;
    expect(afterFirst).toBeLessThanOrEqual(16);
    await pass(120 * 1_000, 1_000);
    // One probe each after 1, 2, 4, 8, 16, 30, 30, … seconds.
    expect(calls - afterFirst).toBeGreaterThanOrEqual(6);
    expect(calls - afterFirst).toBeLessThanOrEqual(9);
    expect(lines.filter(({ level }) => level === "error").length).toBeGreaterThanOrEqual(2);
    expect(lines.filter(({ level }) => level === "error").length).toBeLessThanOrEqual(3);
    expect((await receiver.health()).service).toBe("refused");
    expect((await receiver.inbox.list()).map(({ attempts }) => attempts)).toEqual(
      Array.from({ length: 40 }, () => 0),
    );
    refusing = false;
    await advanceUntil(() => seen.length === 40);
    expect((await receiver.health()).service).toBe("ok");
  });

  it.each([
    ["came in the same millisecond", async () => "valid" as const],
    ["had been asked for before", null],
  ])("a receiver holds none while the key is refused, though a verdict %s", async (_, first) => {
    let endLate = (_verdict: Verdict): void => {};
    const late = new Promise<Verdict>((resolve) => (endLate = resolve));
    const refused: Authorizer["authorize"] = () => Promise.reject(answeredWith(401));
    let answer: Authorizer["authorize"] = first ?? (() => late);
    const { receiver, emulator, send, pass } = setUp({
      client: { authorize: (...given) => answer(...given) },
    });
    receiver.on("report", () => {});
    await send("report");
    await turns();
    answer = refused;
    for (let count = 0; count < 3; count++) await send("report");
    await turns();
    emulator.clock.advance(30);
    endLate("valid");
    await pass(60_000, 500);
    expect(await receiver.inbox.counts()).toMatchObject({ handled: 1, received: 3, held: 0 });
    const { problems } = await receiver.health();
    expect(problems).toMatchObject([{ code: "key_refused", count: 3 }]);
  });

  it.each([400, 422, 500])("no junk answered %i keeps a delivery waiting", async (status) => {
    let atAcknowledgement = 0;
    const answered: string[] = [];
    const client: Authorizer = {
      async authorize(signature) {
        answered.push(signature);
        if (!signature.startsWith("junk")) return "valid";
        throw answeredWith(status);
      },
    };
    const { post, emulator, seen, seeAll, send, receiver, pass } = setUp({
      client,
      limits: { unverified: 150 },
      observe: {
        acknowledged: () => {
          atAcknowledgement = answered.length;
        },
      },
    });
    seeAll();
    for (let sent = 0; sent < 400; sent++) {
      await post({ body: "{}", headers: { "X-svc-authorization": `junk-${sent}` } });
      if (sent % 100 === 99) {
        await turns();
        await pass(2_000);
      }
    }
    await pass(2_000);
    emulator.clock.advance(10_000);
    const { status: answer } = await send("report.complete");
    expect(answer).toBe(200);
    await turnUntil(() => seen.length === 1);
    const place = answered
      .slice(atAcknowledgement)
      .findIndex((signature) => !signature.startsWith("junk"));
    expect(place).toBeLessThanOrEqual(32);
    const { received, held } = await receiver.inbox.counts();
    expect(received + held).toBeLessThanOrEqual(400);
  });

  it("the verification is never delayed by slow handlers", async () => {
    const { receiver, send, observed, emulator } = setUp({ concurrency: { handle: 1 } });
    const { clock } = emulator;
    receiver.on("*", () => new Promise((resolve) => void clock.setTimeout(resolve, 1_000)));
    const start = clock.now();
    await Promise.all(Array.from({ length: 200 }, () => send("report.complete")));
    const verified = () => observed.filter(([name]) => name === "verified").length;
    await turnUntil(() => verified() === 200);
    expect(clock.now() - start).toBeLessThan(10_000);
    expect(observed.filter(([name]) => name === "handled").length).toBeLessThan(20);
    while ((await receiver.inbox.counts()).handled < 200) {
      clock.advance(1_000);
      await turns(3);
    }
  });

  it("a receiver warns of a signature that comes again with other bytes, or holds it", async () => {
    for (const reusedSignature of ["accept", "hold"] as const) {
      for (const verify of ["after-ack", "before-ack"] as const) {
        const { emulator, post, receiver, lines, seen, seeAll, observed } = setUp({
          reusedSignature,
          verify,
        });
        seeAll();
        const { headers, body } = emulator.notification("report.complete");
        const first = await post({ headers, body });
        const second = await post({ headers, body: `${body} ` });
        await receiver.idle();
        expect(lines[0]).toMatchObject({
          level: "warn",
          fields: { id: second.body.id, sameSignatureAs: first.body.id },
        });
        const held = reusedSignature === "hold";
        expect(seen).toHaveLength(held ? 1 : 2);
        const message = `Its signature came with other bytes, or at another address: ${first.body.id}. Release it if you trust both.`;
        const reason = { code: "reused_signature", message };
        expect(await receiver.inbox.get(second.body.id)).toMatchObject(
          held ? { state: "held", reason } : { state: "handled", reason: null },
        );
        expect(observed.filter(([name]) => name === "parked")).toHaveLength(held ? 1 : 0);
        if (held) await receiver.inbox.release(second.body.id);
        await receiver.idle();
        expect(seen).toHaveLength(2);
      }
    }
  });
});

describe("after the verdict", () => {
  it("the entry of a delivery whose signature has expired shows type and report", async () => {
    for (const verify of ["after-ack", "before-ack"] as const) {
      const { receiver, send } = setUp({ verify });
      const { body } = await send("report.complete", { signature: "expired", reportId: "r-1" });
      await receiver.idle();
      const shown = { state: "held", type: "report.complete", reportId: "r-1" };
      expect(await receiver.inbox.get(body.id)).toMatchObject(shown);
    }
  });

  it("a receiver takes a 401 of any client for a refused key", async () => {
    const client: Authorizer = {
      async authorize() {
        throw Object.assign(new Error("no"), { status: 401 });
      },
    };
    const { receiver, send } = setUp({ client });
    const { body } = await send("report.complete");
    await turns();
    expect((await receiver.health()).service).toBe("refused");
    expect(await receiver.inbox.get(body.id)).toMatchObject({ state: "received", attempts: 0 });
  });

  it("a receiver asks about a released delivery for another hour before it is held again", async () => {
    let away = true;
    const client: Authorizer = {
      async authorize() {
        if (away) throw new Error("away");
        return "expired";
      },
    };
    const { receiver, send, observed, advanceUntil, seen, seeAll } = setUp({ client });
    seeAll();
    const parked = () => observed.filter(([name]) => name === "parked").length;
    const { body } = await send("report.complete");
    await advanceUntil(() => parked() === 1, 10_000);
    await receiver.inbox.release(body.id);
    await advanceUntil(() => parked() === 2, 10_000);
    expect(await receiver.inbox.get(body.id)).toMatchObject({ state: "held", attempts: 12 });
    await receiver.inbox.release(body.id);
    await turns();
    away = false;
    await advanceUntil(() => seen.length > 0, 10_000);
    expect(seen).toMatchObject([{ id: body.id, verification: "expired" }]);
  });
});
