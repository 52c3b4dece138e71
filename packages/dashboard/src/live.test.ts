import { createServer } from "node:http";
import { createClient, createReceiver, memoryInbox } from "@reporthook/core";
import { afterEach, expect, it, vi } from "vitest";
import { dashboard } from "./dashboard.ts";
import { onNode } from "./node.ts";

const authorize = () => ({ name: "Ada", may: "act" }) as const;
const live = () =>
  new Request("http://app.example/inbox/api/deliveries", {
    headers: { accept: "text/event-stream" },
  });

function setUp() {
  const inbox = memoryInbox();
  const client = createClient({ baseUrl: "http://reports.example", apiKey: "key" });
  const receiver = createReceiver({ client, inbox, logger: false });
  return { inbox, receiver, page: dashboard(receiver, { authorize }) };
}

afterEach(() => {
  vi.useRealTimers();
});

it("ends a live answer when the receiver closes, and asks its inbox nothing then", async () => {
  const { inbox, receiver, page } = setUp();
  const response = await page(live());
  expect(response.headers.get("connection")).toBe("close");
  await receiver.close();
  const asked = (["health", "list", "counts", "oldestWaiting"] as const).map((name) =>
    vi.spyOn(inbox, name),
  );
  expect(await response.text()).toBe("retry: 1000\n\n");
  const plain = new Request("http://app.example/inbox/api/deliveries");
  for (const request of [live(), plain]) {
    const later = await page(request);
    const { code } = (await later.json()) as { readonly code: string };
    expect([later.status, code]).toEqual([503, "closing"]);
  }
  for (const spy of asked) expect(spy).not.toHaveBeenCalled();
});

it("ends a live answer when the inbox hangs: the page must not call it live", async () => {
  const { inbox, page } = setUp();
  const response = await page(live());
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const hangs = vi.spyOn(inbox, "list").mockReturnValue(new Promise<never>(() => {}));
  const text = response.text();
  while (hangs.mock.calls.length === 0) await new Promise(setImmediate);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(await text).toBe("retry: 1000\n\n");
});

it("leaves an answer alone that somebody else has given meanwhile", async () => {
  let served: Promise<void> | undefined;
  const server = createServer((req, res) => {
    served = onNode(async () => {
      res.writeHead(503).end("too slow");
      return new Response("it is here");
    })(req, res);
  }).listen(0, "127.0.0.1");
  await vi.waitFor(() => expect(server.address()).not.toBeNull());
  const { port } = server.address() as { readonly port: number };
  const response = await fetch(`http://127.0.0.1:${port}/inbox/`);
  expect([response.status, await response.text()]).toEqual([503, "too slow"]);
  await expect(served).resolves.toBeUndefined();
  server.close();
});
