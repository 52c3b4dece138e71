import { createReceiver, memoryInbox } from "@reporthook/core";
import { expect, it, vi } from "vitest";
import { dashboard } from "./dashboard.ts";

const headers = { "x-reporthook": "1", "sec-fetch-site": "same-origin" };
const acting = (path: string) =>
  new Request(`http://localhost/api/${path}`, { method: "POST", headers });

it("the dashboard answers 404 to a delivery that an inbox with another copy of core does not find", async () => {
  const inbox = memoryInbox();
  vi.resetModules();
  const copy = await import("@reporthook/core");
  vi.spyOn(inbox, "act").mockImplementation(() => {
    throw new copy.ReporthookError("not_found", "none");
  });
  const receiver = createReceiver({ client: { authorize: async () => "valid" }, inbox });
  const page = dashboard(receiver, { authorize: () => ({ name: "Ada", may: "act" }) });
  const answer = await page(acting("deliveries/01h/release"));
  expect(answer.status).toBe(404);
  await receiver.close();
});

it("the dashboard acts on no delivery whose id only begins like the one that was shown", async () => {
  const inbox = memoryInbox();
  const receiver = createReceiver({ client: { authorize: async () => "valid" }, inbox });
  const page = dashboard(receiver, { authorize: () => ({ name: "Ada", may: "act" }) });
  const headers = { "content-type": "application/json" };
  const request = new Request("http://localhost/", { method: "POST", headers, body: "{}" });
  const { id } = (await (await receiver.fetch(request)).json()) as { id: string };
  const discarded = async (of: string) => {
    const query = new URLSearchParams({ unchangedSince: new Date(8e15).toISOString() });
    return (await page(acting(`deliveries/${of}/discard?${query}`))).json();
  };
  expect(await discarded(id.slice(0, 8))).toEqual({ done: 0 });
  expect(await discarded(id)).toEqual({ done: 1 });
  await receiver.close();
});

it.each(["", "reason=", "error=", "reason=&state=held"])(
  "the dashboard answers 400 to an act on all of '%s', which names no kind, and logs no failure",
  async (query) => {
    const receiver = createReceiver({ client: { authorize: async () => "valid" }, logger: false });
    const logger = { info: vi.fn(), error: vi.fn() };
    const page = dashboard(receiver, { authorize: () => ({ name: "Ada", may: "act" }), logger });
    const answer = await page(acting(`release?${query}`));
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: "unclear" }]);
    expect(logger.error).not.toHaveBeenCalled();
    await receiver.close();
  },
);
