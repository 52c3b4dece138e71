import { testStages } from "@reporthook/test-support/jobs";
import { describe, expect, it } from "vitest";
import { DoNotRetry } from "../errors.ts";

const leaseOf = ({ signal }: AbortController) => ({ signal, isHeld: () => true });
const lease = leaseOf(new AbortController());

describe("attempts", () => {
  it("HandleStage.run() does not count an attempt that a shutdown cut off, in a handler or in a schema", async () => {
    const never = (): Promise<never> => new Promise(() => {});
    const schema = { "~standard": { version: 1, vendor: "test", validate: never } } as const;
    for (const rest of [{}, { schemas: { "report.complete": schema } }]) {
      const { handle, job, registrations } = testStages(never, rest);
      registrations.push({ names: ["*"], handler: never });
      const controller = new AbortController();
      const given = job({ stage: "handle", state: "verified", verification: "valid" });
      const handling = handle.run(given, leaseOf(controller));
      await Promise.resolve();
      controller.abort();
      expect(await handling).toMatchObject({ to: "retry", countsAsAttempt: false });
    }
  });

  it("HandleStage.run() shows no API key from the errors of handlers and schemas", async () => {
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
        const { handle, job, registrations } = testStages(() => "valid");
        for (const failure of failures) {
          registrations.push({ names: ["*"], handler: () => Promise.reject(failure) });
        }
        const text = JSON.stringify(await handle.run(job({ ...given, attempts }), lease));
        expect(text).toContain("a [api key]");
        expect(text).not.toContain("canary");
      }
    }
    const { handle, job } = testStages(() => "valid", { schemas: { "report.complete": schema } });
    const text = JSON.stringify(await handle.run(job(given), lease));
    expect(text).toContain("no [api key]");
    expect(text).not.toContain("canary");
  });

  it("HandleStage.run() names at most 20 keys of an unknown notification, in a bounded text", async () => {
    const { handle, job } = testStages(() => "valid");
    const keys = Array.from({ length: 30 }, (_, index) => [`${index}${"k".repeat(500)}`, 1]);
    const body = new TextEncoder().encode(JSON.stringify(Object.fromEntries(keys)));
    const outcome = await handle.run(job({ stage: "handle", verification: "valid", body }), lease);
    expect(outcome).toMatchObject({ to: "held", reason: { code: "no_handler" } });
    expect(JSON.stringify(outcome).length).toBeLessThan(1_000);
  });
});
