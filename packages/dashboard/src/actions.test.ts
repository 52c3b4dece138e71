import { createReceiver, memoryInbox } from "@reporthook/core";
import { expect, it, vi } from "vitest";
import { dashboard } from "./dashboard.ts";

it("the dashboard answers 404 to a delivery that an inbox with another copy of core does not find", async () => {
  const inbox = memoryInbox();
  vi.resetModules();
  const copy = await import("@reporthook/core");
  vi.spyOn(inbox, "act").mockImplementation(() => {
    throw new copy.ReporthookError("not_found", "none");
  });
  const receiver = createReceiver({ client: { authorize: async () => "valid" }, inbox });
  const page = dashboard(receiver, { authorize: () => ({ name: "Ada", may: "act" }) });
  const answer = await page(
    new Request("http://localhost/api/deliveries/01h/release", {
      ...{ method: "POST", headers: { "x-reporthook": "1", "sec-fetch-site": "same-origin" } },
    }),
  );
  expect(answer.status).toBe(404);
  await receiver.close();
});
