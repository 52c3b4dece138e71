import { answeredWith, testStages } from "@reporthook/test-support/jobs";
import { describe, expect, it, vi } from "vitest";
import { messages } from "../log-messages.ts";

const lease = new AbortController();
const fail = (status: number) => () => {
  throw answeredWith(status);
};

describe("verdicts", () => {
  it.each([
    ["refused", 401],
    ["failing", 503],
  ])("VerifyStage.run() logs the recovery of a service: %s", async (status, code) => {
    let answer: () => unknown = fail(code);
    const warn = vi.fn();
    const logger = { warn, error: vi.fn() };
    const { verify, job, clock, service } = testStages(() => answer(), { logger });
    await verify.run(job(), lease);
    expect(service()).toBe(status);
    await clock.advance(60_000);
    answer = () => "valid";
    warn.mockClear();
    for (let times = 0; times < 2; times++) await verify.run(job(), lease);
    expect(warn.mock.calls).toEqual([[{ receiver: "reports", count: 1 }, messages.verdictsAgain]]);
  });

  it("VerifyStage.run() shows no API key and no signature from an error of authorize", async () => {
    const logger = { warn: vi.fn(), error: vi.fn() };
    const { verify, job } = testStages(
      () => {
        throw new Error("asked with canary about signature-1");
      },
      { logger },
    );
    const outcome = await verify.run(job({ signature: "signature-1" }), lease);
    const text = JSON.stringify([outcome, logger.warn.mock.calls]);
    expect(text).toContain("asked with [api key] about [signature]");
    expect(text).not.toMatch(/canary|signature-1/);
  });

  it("VerifyStage.run() does not count an attempt that a shutdown or a refused key cut off", async () => {
    const refused = testStages(fail(401));
    expect(await refused.verify.run(refused.job(), lease)).toMatchObject({
      to: "retry",
      countsAsAttempt: false,
    });
    expect(refused.service()).toBe("refused");
    // It is not asked, and comes again with the next probe.
    expect(await refused.verify.run(refused.job(), lease)).toMatchObject({
      to: "retry",
      afterMs: expect.closeTo(1_000, -3),
      countsAsAttempt: false,
    });
    const stopped = testStages(() => "valid");
    stopped.verify.stop();
    expect(await stopped.verify.run(stopped.job(), lease)).toMatchObject({
      to: "retry",
      countsAsAttempt: false,
    });
    const cut = testStages(() => new Promise(() => {}));
    const controller = new AbortController();
    const cutting = cut.verify.run(cut.job(), controller);
    controller.abort();
    expect(await cutting).toMatchObject({ to: "retry", countsAsAttempt: false });
    expect(cut.service()).toBe("unknown");
  });
});
