import { describe, expect, it } from "vitest";
import type { Job } from "../inbox/delivery.ts";
import { receiverSettingsOf } from "../options/receiver-settings.ts";
import { type Instrumentation, instrumentation, watch } from "./instrumentation.ts";
import { Reporter } from "./reporter.ts";

/** A reporter with two instruments. */
function reporterOf(outer: Instrumentation, inner: Instrumentation): Reporter {
  const settings = receiverSettingsOf({
    client: { authorize: async () => "valid" },
    logger: false,
    observe: { [watch]: () => inner },
    [instrumentation]: () => outer,
  });
  const reporter = new Reporter(settings);
  const unreachable = (): never => expect.unreachable();
  const lookout = { health: unreachable, look: null, reports: [], wallOffset: 0 };
  reporter.instrument({ lookout, numbers: unreachable }, []);
  return reporter;
}

describe("Reporter", () => {
  it("a reporter calls the wrapper of an instrument inside those before it", async () => {
    const order: string[] = [];
    const named = (name: string): Instrumentation => ({
      async verify(_job, run) {
        order.push(`${name} begins`);
        const answer = await run();
        order.push(`${name} ends`);
        return answer;
      },
    });
    const reporter = reporterOf(named("outer"), named("inner"));
    const answer = await reporter.verify({} as Job, async () => {
      order.push("asked");
      return { verdict: "valid" };
    });
    expect(answer).toEqual({ verdict: "valid" });
    expect(order).toEqual(["outer begins", "inner begins", "asked", "inner ends", "outer ends"]);
  });

  it("a reporter ends every instrument, even if one fails", async () => {
    let ended = false;
    const failing: Instrumentation = {
      end() {
        throw new Error("no exporter");
      },
    };
    const reporter = reporterOf(failing, {
      async end() {
        ended = true;
      },
    });
    await expect(reporter.end()).rejects.toThrow("no exporter");
    expect(ended).toBe(true);
  });
});
