import { describe, expect, it } from "vitest";
import { Lookout } from "../health/health.ts";
import type { Job } from "../inbox/delivery.ts";
import { toolView } from "../inbox/receiver-inbox.ts";
import { receiverSettingsOf } from "../options/receiver-settings.ts";
import { type Instrumentation, instrumentation, watch } from "./instrumentation.ts";
import { Reporter } from "./reporter.ts";

/** A reporter with telemetry and an instrument as that of alerts. */
function reporterOf(telemetry: Instrumentation, alerts: Instrumentation): Reporter {
  const settings = receiverSettingsOf({
    client: { authorize: async () => "valid" },
    logger: false,
    observe: { [watch]: () => alerts },
    [instrumentation]: () => telemetry,
  });
  return new Reporter(settings, new Lookout(toolView(settings.inbox, settings.name)), []);
}

describe("Reporter", () => {
  it("a reporter has telemetry wrap a step, and runs a step that it does not wrap", async () => {
    const order: string[] = [];
    const wrapping: Instrumentation = {
      async verify(_job, run) {
        order.push("begins");
        const answer = await run();
        order.push("ends");
        return answer;
      },
    };
    const reporter = reporterOf(wrapping, {});
    const answer = await reporter.verify({} as Job, async () => {
      order.push("asked");
      return { verdict: "valid" };
    });
    expect(answer).toEqual({ verdict: "valid" });
    expect(order).toEqual(["begins", "asked", "ends"]);
    expect(await reporter.handle({} as Job, async () => ["failed"])).toEqual(["failed"]);
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
