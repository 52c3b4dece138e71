import { createEmulator } from "@reporthook/emulator";
import { describe, expect, it, vi } from "vitest";
import { DoNotRetry, ServiceError } from "../errors.ts";
import type { Job } from "../inbox/delivery.ts";
import { loggerOf } from "../lib/log.ts";
import type { Registration } from "./handlers.ts";
import { createWorker, type WorkerOptions } from "./stages.ts";

const { signal } = new AbortController();
const fail = (status: number) => () => {
  const code = status === 401 ? "service_refused" : "service_failed";
  throw new ServiceError(code, `POST … ${status}`, { status, retryable: true });
};

function make(authorize: () => unknown, rest: Partial<WorkerOptions> = {}) {
  const { clock } = createEmulator();
  const registrations: Registration[] = [];
  const client = { authorize: async () => authorize() } as WorkerOptions["client"];
  const worker = createWorker({
    ...{
      name: "reports",
      client,
      clock,
      logger: loggerOf("reports", {}),
      clean: (text: string) => text.replaceAll("canary", "[api key]"),
      registrations,
      expired: "hold",
      reusedSignature: "accept",
      concurrency: { verify: 16, handle: 8 },
    },
    ...{ retry: { attempts: 3, minMs: 1_000, maxMs: 10_000 }, handlerTimeoutMs: 1_000 },
    ...rest,
  });
  const job = (given: Partial<Job> = {}): Job => ({
    ...{ id: "1", state: "received", stage: "verify", reason: null, type: null, reportId: null },
    ...{ receivedAt: new Date(clock.now()), attempts: 0, nextAttemptAt: null, lastError: null },
    ...{
      ackMs: 0,
      signature: "s",
      url: "/",
      context: null,
      headers: {},
      verification: null,
      released: false,
    },
    ...{
      memo: null,
      sameSignatureAs: null,
      body: new TextEncoder().encode('{"status":"complete","id":7}'),
    },
    ...given,
  });
  return { worker, job, clock, registrations };
}

describe("worker.verify()", () => {
  it("advances with what was recognised when the verdict is valid", async () => {
    const { worker, job } = make(() => "valid");
    expect(await worker.verify(job(), signal)).toEqual({
      ...{ to: "verified", verification: "valid", type: "report.complete", reportId: "7" },
    });
    expect(worker.service).toBe("ok");
  });

  it("runs an expired one only when it was released, or asked about promptly in an outage", async () => {
    const hold = make(() => "expired");
    expect(await hold.worker.verify(hold.job(), signal)).toMatchObject({ to: "held" });
    expect(await hold.worker.verify(hold.job({ released: true }), signal)).toMatchObject({
      ...{ to: "verified", verification: "expired" },
    });
    const memo = JSON.stringify({ outage: true });
    expect(await hold.worker.verify(hold.job({ memo }), signal)).toMatchObject({ to: "held" });
    const handle = make(() => "expired", { expired: "handle-after-outage" });
    expect(await handle.worker.verify(handle.job({ memo }), signal)).toMatchObject({
      to: "verified",
    });
    expect(await handle.worker.verify(handle.job(), signal)).toMatchObject({ to: "held" });
  });

  it("remembers an outage when a later prompt call goes unanswered, and forgets none", async () => {
    let status = 400;
    const { worker, job, clock } = make(() => fail(status)());
    const memoAfter = async (given: Partial<Job>): Promise<unknown> => {
      const outcome = await worker.verify(job(given), signal);
      return JSON.parse((outcome.to === "again" && outcome.memo) || "null");
    };
    expect(await memoAfter({})).toEqual({ outage: false, odd: 1 });
    status = 500;
    const memo = '{"outage":false,"odd":1}';
    expect(await memoAfter({ memo, attempts: 1 })).toEqual({ outage: true, odd: 1 });
    const late = { receivedAt: new Date(clock.now() - 61_000) };
    expect(await memoAfter({ memo, ...late })).toEqual({ outage: false, odd: 1 });
    expect(await memoAfter({ memo: '{"outage":true}', ...late })).toEqual({
      outage: true,
      odd: 0,
    });
  });

  it("asks for the last time when the hour is over, and holds it then", async () => {
    const { worker, job, clock } = make(fail(500));
    const after = (age: number): Promise<unknown> =>
      worker.verify(job({ receivedAt: new Date(clock.now() - age), attempts: 40 }), signal);
    expect(await after(3_590_000)).toMatchObject({
      to: "again",
      afterMs: expect.closeTo(10_000, -3),
    });
    expect(await after(3_600_000)).toMatchObject({ to: "held", reason: { code: "not_verified" } });
  });

  it("gives way when the answer concerns this signature alone, or has failed before", async () => {
    let answer: () => unknown = fail(500);
    const { worker, job } = make(() => answer());
    const givesWay = async (given: Partial<Job> = {}): Promise<unknown> => {
      const outcome = await worker.verify(job(given), signal);
      return outcome.to === "again" && outcome.giveWay;
    };
    expect(await givesWay()).toBeUndefined();
    expect(await givesWay({ attempts: 1 })).toBe(true);
    answer = fail(422);
    expect(await givesWay()).toBe(true);
    answer = () => "valid";
    await worker.verify(job(), signal);
    answer = fail(500);
    expect(await givesWay()).toBe(true);
  });

  it("shows no API key and no signature of what authorize throws", async () => {
    const logger = { warn: vi.fn(), error: vi.fn() };
    const { worker, job } = make(
      () => {
        throw new Error("asked with canary about signature-1");
      },
      { logger },
    );
    const outcome = await worker.verify(job({ signature: "signature-1" }), signal);
    const text = JSON.stringify([outcome, logger.warn.mock.calls]);
    expect(text).toContain("asked with [api key] about [signature]");
    expect(text).not.toMatch(/canary|signature-1/);
  });

  it("does not count what a shutdown or a refused key cut off", async () => {
    const refused = make(fail(401));
    expect(await refused.worker.verify(refused.job(), signal)).toMatchObject({
      ...{ to: "again", counts: false },
    });
    expect(refused.worker.service).toBe("refused");
    expect(await refused.worker.verify(refused.job(), signal)).toMatchObject({
      ...{ to: "again", counts: false },
    });
    const stopped = make(() => "valid");
    stopped.worker.stopVerifying();
    expect(await stopped.worker.verify(stopped.job(), signal)).toMatchObject({
      ...{ to: "again", counts: false },
    });
    const cut = make(() => new Promise(() => {}));
    const controller = new AbortController();
    const cutting = cut.worker.verify(cut.job(), controller.signal);
    controller.abort();
    expect(await cutting).toMatchObject({ to: "again", counts: false });
    expect(cut.worker.service).toBe("unknown");
  });
});

describe("worker.handle()", () => {
  it("does not count an attempt that a shutdown cut off, in a handler or in a schema", async () => {
    const never = (): Promise<never> => new Promise(() => {});
    const schema = { "~standard": { version: 1, vendor: "test", validate: never } } as const;
    for (const rest of [{}, { schemas: { "report.complete": schema } }]) {
      const { worker, job, registrations } = make(never, rest);
      registrations.push({ names: ["*"], handler: never });
      const controller = new AbortController();
      const given = job({ stage: "handle", state: "verified", verification: "valid" });
      const handling = worker.handle(given, controller.signal);
      await Promise.resolve();
      controller.abort();
      expect(await handling).toMatchObject({ to: "again", counts: false });
    }
  });

  it("shows no API key of what handlers and schemas throw", async () => {
    const schema = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: () => {
          throw new Error("no canary");
        },
      },
    } as const;
    const given = { stage: "handle", state: "verified", verification: "valid" } as const;
    const thrown = [[new Error("a canary")], [new Error("a canary"), new DoNotRetry("canary")]];
    for (const failures of thrown) {
      for (const attempts of [0, 2]) {
        const { worker, job, registrations } = make(() => "valid");
        for (const failure of failures) {
          registrations.push({ names: ["*"], handler: () => Promise.reject(failure) });
        }
        const text = JSON.stringify(await worker.handle(job({ ...given, attempts }), signal));
        expect(text).toContain("a [api key]");
        expect(text).not.toContain("canary");
      }
    }
    const { worker, job } = make(() => "valid", { schemas: { "report.complete": schema } });
    const text = JSON.stringify(await worker.handle(job(given), signal));
    expect(text).toContain("no [api key]");
    expect(text).not.toContain("canary");
  });

  it("names at most 20 keys of an unknown notification, in a bounded text", async () => {
    const { worker, job } = make(() => "valid");
    const keys = Array.from({ length: 30 }, (_, index) => [`${index}${"k".repeat(500)}`, 1]);
    const body = new TextEncoder().encode(JSON.stringify(Object.fromEntries(keys)));
    const outcome = await worker.handle(
      job({ stage: "handle", verification: "valid", body }),
      signal,
    );
    expect(outcome).toMatchObject({ to: "held", reason: { code: "no_handler" } });
    expect(JSON.stringify(outcome).length).toBeLessThan(1_000);
  });
});
