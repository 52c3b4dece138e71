import { createServer } from "node:http";
import {
  createClient,
  createReceiver,
  type Inbox,
  memoryInbox,
  ReporthookError,
} from "@reporthook/core";
import { actOn } from "@reporthook/core/store";
import { deliveryMaker, unsigned } from "@reporthook/testing/internals";
import { afterEach, expect, it, vi } from "vitest";
import { dashboard } from "./dashboard.ts";
import { maxBodyLength, type WireList, type WireOne } from "./deliveries/wire.ts";
import { onNode } from "./node.ts";

const authorize = () => ({ name: "Ada", may: "act" }) as const;
const live = (what = "deliveries") =>
  new Request(`http://app.example/inbox/api/${what}`, {
    headers: { accept: "text/event-stream" },
  });

function setUp() {
  const inbox = memoryInbox();
  const client = createClient({ baseUrl: "http://reports.example", apiKey: "key" });
  const receiver = createReceiver({ client, inbox, logger: false });
  return { inbox, receiver, page: dashboard(receiver, { authorize }) };
}

/** Stores a delivery with this body that waits for a person; resolves to its id. */
async function hold(inbox: Inbox, body: string): Promise<string> {
  const delivery = await deliveryMaker(Date.now)({ receiver: "reports", signature: null, body });
  await inbox.add(delivery, unsigned);
  return delivery.id;
}

/** The events of a live answer, as they come. */
function eventsOf(response: Response): readonly string[] {
  const events: string[] = [];
  const decoder = new TextDecoder();
  const write = (part: Uint8Array) => void events.push(decoder.decode(part));
  void response.body?.pipeTo(new WritableStream({ write }));
  return events;
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it("a live answer ends when the receiver closes, and its inbox is asked nothing then", async () => {
  const { inbox, receiver, page } = setUp();
  const response = await page(live());
  expect(response.headers.get("connection")).toBe("close");
  await receiver.close();
  const asked = (["health", "list", "counts", "facts"] as const).map((name) =>
    vi.spyOn(inbox, name),
  );
  expect(await response.text()).toMatch(/^data: .*\n\n$/);
  const plain = new Request("http://app.example/inbox/api/deliveries");
  for (const request of [live(), plain]) {
    const later = await page(request);
    const { code } = (await later.json()) as { readonly code: string };
    expect([later.status, code]).toEqual([503, "closing"]);
  }
  for (const spy of asked) expect(spy).not.toHaveBeenCalled();
});

it("a live view that was left while it waited for a slower one is no failure", async () => {
  const { inbox, receiver } = setUp();
  const error = vi.fn();
  const page = dashboard(receiver, { authorize, logger: { error } });
  let goOn = (): void => {};
  const slow = vi.spyOn(inbox, "list").mockImplementationOnce(async () => {
    await new Promise<void>((resolve) => (goOn = resolve));
    return [];
  });
  const first = page(live());
  while (slow.mock.calls.length === 0) await new Promise(setImmediate);
  const leaving = new AbortController();
  const left = page(new Request(live("overview"), { signal: leaving.signal }));
  await new Promise(setImmediate);
  leaving.abort();
  goOn();
  for (const answer of await Promise.all([first, left])) await answer.body?.cancel();
  expect(error).not.toHaveBeenCalled();
  await receiver.close();
});

it("the live views of other addresses are other views, and each viewer of one is named in their own", async () => {
  const { receiver } = setUp();
  const body = '{"event_type":"report_status","status":"complete"}';
  const headers = { "Content-Type": "application/json" };
  await receiver.fetch(new Request("http://app.example/hook", { method: "POST", headers, body }));
  const page = dashboard(receiver, {
    authorize: ({ headers }) => ({ name: headers.get("x-who") ?? "", may: "view" }),
  });
  const told: (readonly string[])[] = [];
  for (const [what, who] of [
    ["deliveries", "Ada"],
    ["deliveries", "Grace"],
    ["deliveries?state=handled", "Ada"],
    ["reports", "Ada"],
  ] as const) {
    const request = live(what);
    request.headers.set("x-who", who);
    told.push(eventsOf(await page(request)));
  }
  await vi.waitUntil(() => told.every(({ length }) => length > 0));
  const seen = told.map(([first = ""]) => JSON.parse(first.slice("data: ".length)) as WireList);
  expect(seen.map(({ viewer }) => viewer.name)).toEqual(["Ada", "Grace", "Ada", "Ada"]);
  expect(seen.map(({ total }) => total)).toEqual([1, 1, 0, undefined]);
  await receiver.close();
});

it("a live answer ends when the inbox hangs: the page must not call it live", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const { inbox, page } = setUp();
  const text = (await page(live())).text();
  const hangs = vi.spyOn(inbox, "list").mockReturnValue(new Promise<never>(() => {}));
  await vi.advanceTimersByTimeAsync(18_000);
  expect(hangs).toHaveBeenCalledOnce();
  expect(await text).toMatch(/^data: .*\n\n$/);
});

it("a live view that can't be read is answered as a plain one is, and takes no place", async () => {
  const { inbox, page } = setUp();
  vi.spyOn(inbox, "list").mockRejectedValue(new ReporthookError("not_searchable", "Not by this"));
  for (let times = 0; times < 150; times++) {
    const response = await page(live());
    const problem = { code: "not_searchable", detail: "Not by this" };
    expect([response.status, await response.json()]).toMatchObject([400, problem]);
  }
});

it("the dashboard looks once a second at a delivery that ten pages show, and lays its body out once, in part", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const { inbox, page } = setUp();
  // One that is laid out in twice as much as it has.
  const id = await hold(inbox, `[${Array(87_000).fill('""').join()}]`);
  const got = vi.spyOn(inbox, "get");
  const matched = vi.spyOn(JSON, "parse");
  const told: (readonly string[])[] = [];
  for (let number = 0; number < 10; number++) {
    told.push(eventsOf(await page(live(`deliveries/${id}`))));
  }
  const bodyRead = () => matched.mock.calls.filter(([text]) => text.length > 200_000).length;
  await vi.advanceTimersByTimeAsync(10_500);
  expect(got.mock.calls.length).toBeGreaterThan(5);
  // One a second, and one more for pages that come once the first look is over; ten times as many were each to look.
  expect(got.mock.calls.length).toBeLessThanOrEqual(15);
  expect(bodyRead()).toBe(1);
  const query = { act: "discard", id, now: Date.now(), by: null } as const;
  expect((await actOn(inbox, query)).total).toBe(1);
  await vi.advanceTimersByTimeAsync(2_000);
  for (const events of told) {
    const [first = "", second = ""] = events;
    expect(events).toHaveLength(2);
    const { delivery } = JSON.parse(first.slice("data: ".length)) as WireOne;
    expect(delivery?.body).toMatchObject({ isCut: true });
    expect(delivery?.body?.text.length).toBeLessThanOrEqual(maxBodyLength + 1);
    expect(second).toContain('"delivery":null');
  }
});

it("a page with no news is sent a comment every 15 s, so that it knows of a dead connection", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const { page } = setUp();
  const events = eventsOf(await page(live()));
  await vi.advanceTimersByTimeAsync(38_000);
  expect(events).toEqual([expect.stringMatching(/^data: /), ":\n\n", ":\n\n"]);
});

it("a request for the body has all of a body that the page shows in part, without its secrets", async () => {
  const { inbox, page } = setUp();
  const long = { rows: Array(60_000).fill(7), token: "hush" };
  const id = await hold(inbox, JSON.stringify(long));
  const response = await page(new Request(`http://app.example/inbox/api/deliveries/${id}/body`));
  expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(await response.json()).toEqual({ ...long, token: "[removed]" });
  const none = await page(new Request("http://app.example/inbox/api/deliveries/none/body"));
  expect(none.status).toBe(404);
});

it("the dashboard leaves an answer alone that somebody else has given meanwhile", async () => {
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
