import { memoryInbox } from "@reporthook/core";
import { deliveryMaker, unsigned } from "@reporthook/testing/internals";
import { describe, expect, it, vi } from "vitest";
import { type DashboardOptions, dashboard } from "./dashboard.ts";
import { ofInbox } from "./deliveries/source.ts";
import { dashboardMessages } from "./log-messages.ts";

const make = deliveryMaker(Date.now);
const ada = { name: "Ada", may: "act" } as const;
const overview = (): Request => new Request("http://app.example/inbox/api/overview");

/** Options as JavaScript may give them. */
function shown(
  options: { readonly [K in keyof DashboardOptions]: unknown },
  inbox = memoryInbox(),
) {
  return dashboard(ofInbox(inbox), options as DashboardOptions);
}

describe("people", () => {
  it.each([null, undefined, false, 0, ""])("a visitor is refused with %j", async (nobody) => {
    const error = vi.fn();
    const page = shown({ authorize: () => nobody, logger: { error } });
    expect((await page(overview())).status).toBe(403);
    expect(error).not.toHaveBeenCalled();
  });

  it.each([true, {}, "ada", { name: 7 }, () => {}])(
    "a request fails when authorize gives %j, and the log says what to return",
    async (odd) => {
      const error = vi.fn();
      const page = shown({ authorize: async () => odd, logger: { error } });
      expect((await page(overview())).status).toBe(503);
      const told =
        'TypeError: dashboard: authorize must return { name: string, may: "view" | "act" }, or null';
      const fields = { receiver: "reports", error: told };
      expect(error.mock.calls).toEqual([[fields, dashboardMessages.failed]]);
    },
  );

  it("a request is answered 503 when authorize throws a value without a text", async () => {
    const error = vi.fn();
    const authorize = () => Promise.reject(Object.create(null));
    const page = shown({ authorize, logger: { error } });
    expect((await page(overview())).status).toBe(503);
    const fields = { receiver: "reports", error: "Thrown value of type object" };
    expect(error.mock.calls).toEqual([[fields, dashboardMessages.failed]]);
  });
});

describe("the logger", () => {
  it.each([null, true, "console", {}, { info: () => {} }])("a logger may not be %j", (logger) => {
    const wanted = "dashboard: logger must be false or an object with error";
    expect(() => shown({ logger })).toThrow(new TypeError(wanted));
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("ENOSPC: no space left on device");
      },
    ],
    ["rejects", () => Promise.reject(new Error("ENOSPC: no space left on device"))],
  ])("a logger that %s changes no answer", async (_, fail) => {
    const told: string[] = [];
    // A spy would handle the rejection.
    const write = (_fields: unknown, message: string): unknown => {
      told.push(message);
      return fail();
    };
    const inbox = memoryInbox();
    const delivery = await make({ receiver: "reports", signature: null });
    await inbox.add(delivery, unsigned);
    const authorize = vi.fn(() => ada);
    const page = shown({ authorize, logger: { info: write, error: write } }, inbox);
    const discard = new Request(`http://app.example/inbox/api/deliveries/${delivery.id}/discard`, {
      method: "POST",
      headers: { "x-reporthook": "1", "sec-fetch-site": "same-origin" },
    });
    const done = await page(discard);
    expect([done.status, await done.json()]).toEqual([200, { done: 1 }]);
    authorize.mockImplementation(() => {
      throw new Error("The session store is away");
    });
    expect((await page(overview())).status).toBe(503);
    expect(told).toEqual([dashboardMessages.discard, dashboardMessages.failed]);
    // An unhandled rejection would fail the run.
    await new Promise(setImmediate);
  });
});
