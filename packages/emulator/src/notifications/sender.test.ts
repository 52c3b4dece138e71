import { createServer, type RequestListener } from "node:http";
import { runInNewContext } from "node:vm";
import { gate } from "@reporthook/test-support/gate";
import { listenLocally } from "@reporthook/test-support/listening";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createClock } from "../lib/clock.ts";
import { createFaults } from "../lib/faults.ts";
import type { Deliver, OutgoingNotification } from "./delivery.ts";
import { createSender } from "./sender.ts";
import { Transport } from "./transport.ts";

const parcel: OutgoingNotification = {
  url: "https://app.example/webhooks/reports",
  name: "report.complete",
  reportId: "r-1",
  notification: { method: "POST", headers: { "X-svc-authorization": "s-1" }, body: '{"a":1}' },
};
const never: Deliver = () => new Promise(() => {});

function outboxOf(deliver?: Deliver) {
  const { clock } = createClock();
  const faults = createFaults();
  return { clock, faults, ...createSender(clock, faults, new Transport(deliver)) };
}

const cleanUps: (() => void)[] = [];
// Time stands still: only advance() moves it.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

async function receiverOf(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  cleanUps.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `${await listenLocally(server)}/hook?tenant=a`;
}

test("send() resolves to a record of the notification and its answer", async () => {
  const { send, deliveries } = outboxOf(async () => new Response("thanks", { status: 201 }));
  const delivery = await send(parcel);
  expect(delivery).toStrictEqual({
    id: expect.any(String),
    ...parcel,
    at: expect.any(Date),
    durationMs: expect.any(Number),
    status: 201,
    body: "thanks",
    failed: false,
  });
  expect(deliveries).toEqual([delivery]);
});

test("send() posts over the network when no deliver is given", async () => {
  const seen: unknown[] = [];
  const url = await receiverOf((request, response) => {
    seen.push(request.method, request.url, request.headers["x-svc-authorization"]);
    request.on("data", (chunk) => seen.push(String(chunk))).on("end", () => response.end("ok"));
  });
  const { send } = outboxOf();
  expect(await send({ ...parcel, url })).toMatchObject({ status: 200, body: "ok", failed: false });
  expect(seen).toEqual(["POST", "/hook?tenant=a", "s-1", '{"a":1}']);
});

test("send() looks the global fetch up on every call", async () => {
  const { send } = outboxOf();
  vi.stubGlobal("fetch", async () => new Response("stubbed"));
  expect(await send(parcel)).toMatchObject({ body: "stubbed" });
});

test("send() does not follow a redirect: it is a failed delivery", async () => {
  let requests = 0;
  const url = await receiverOf((_, response) => {
    requests += 1;
    response.writeHead(307, { location: "/elsewhere" }).end();
  });
  const { send } = outboxOf();
  const delivery = await send({ ...parcel, url });
  expect(delivery).toMatchObject({
    status: 307,
    failed: true,
    error: "The receiver answered 307, not 2xx.",
  });
  expect(requests).toBe(1);
});

test("send() fails at once when the clock is advanced by 5 seconds", () => {
  const { send, deliveries, clock } = outboxOf(never);
  void send(parcel);
  clock.advance(4_000);
  expect(deliveries).toEqual([]);
  clock.advance(60_000);
  expect(deliveries).toMatchObject([
    {
      status: null,
      failed: true,
      durationMs: 5_000,
      error: "The receiver did not answer within 5 seconds.",
    },
  ]);
});

test("send() aborts the request when the receiver is too late", async () => {
  const hungUp = gate();
  const arrived = gate();
  const url = await receiverOf((_, response) => {
    response.once("close", hungUp.open);
    arrived.open();
  });
  const { send, clock } = outboxOf();
  const delivery = send({ ...parcel, url });
  await arrived.opened;
  clock.advance(5_000);
  expect((await delivery).failed).toBe(true);
  await hungUp.opened;
});

test("send() fails when only half an answer came within 5 seconds", async () => {
  const cancelled = gate();
  const reading = gate();
  const { send, clock } = outboxOf(
    async () =>
      new Response(
        new ReadableStream({ pull: () => reading.open(), cancel: () => cancelled.open() }),
      ),
  );
  const delivery = send(parcel);
  await reading.opened;
  clock.advance(5_000);
  expect(await delivery).toMatchObject({ status: null, failed: true });
  await cancelled.opened;
});

test("send() ignores an answer that comes too late, and releases it", async () => {
  let answer: (response: Response) => void = () => {};
  const { send, clock, deliveries } = outboxOf(
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  const delivery = send(parcel);
  clock.advance(5_000);
  await delivery;
  await new Promise<void>((cancel) => {
    answer(new Response(new ReadableStream({ cancel: () => cancel() })));
  });
  expect(deliveries).toMatchObject([{ status: null, failed: true }]);
});

test("send() keeps the first 64 KiB of an answer", async () => {
  const { send } = outboxOf(async () => new Response("x".repeat(70_000)));
  expect((await send(parcel)).body).toBe("x".repeat(65_536));
});

test.each([
  ["an error", new Error("no route"), "no route"],
  ["its cause", new TypeError("fetch failed", { cause: new Error("refused") }), "refused"],
  ["a code without words", Object.assign(new Error(), { code: "ECONNREFUSED" }), "ECONNREFUSED"],
  ["an error of another realm", runInNewContext("new Error('refused')"), "refused"],
  ["only a name", new RangeError(), "RangeError"],
  ["no error at all", "no", "no"],
])("send() records why when deliver throws %s", async (_, thrown, reason) => {
  const throwing: Deliver = () => {
    throw thrown;
  };
  const rejecting: Deliver = () => Promise.reject(thrown);
  for (const deliver of [throwing, rejecting]) {
    expect(await outboxOf(deliver).send(parcel)).toMatchObject({
      status: null,
      failed: true,
      error: `The receiver could not be reached: ${reason}`,
    });
  }
});

test("send() fails when deliver resolves to no response, and settled() says so", async () => {
  for (const answer of [5, "x", {}, undefined]) {
    const { send, settled } = outboxOf((async () => answer) as unknown as Deliver);
    const why = "deliver must resolve to a Response";
    expect(await send(parcel)).toMatchObject({ status: null, failed: true });
    await expect(settled()).rejects.toThrow(why);
  }
});

test("send() never tries again", async () => {
  const deliver = vi.fn(async () => new Response(null, { status: 503 }));
  const { send, settled, clock } = outboxOf(deliver);
  await send(parcel);
  clock.advance(86_400_000);
  await settled();
  expect(deliver).toHaveBeenCalledTimes(1);
});

test("send() does not reach the receiver when a fault sets a status or drops", async () => {
  const deliver = vi.fn(async () => new Response());
  const { send, faults } = outboxOf(deliver);
  faults.set("delivery", { status: 503, times: 1 });
  faults.set("delivery", { status: 200, times: 1 });
  faults.set("delivery", { drop: true, times: 1 });
  expect(await send(parcel)).toMatchObject({ status: 503, failed: true });
  expect(await send(parcel)).toMatchObject({ status: 200, failed: false });
  expect(await send(parcel)).toMatchObject({
    status: null,
    failed: true,
    error: "A fault dropped the delivery.",
  });
  expect(deliver).not.toHaveBeenCalled();
  expect(await send(parcel)).toMatchObject({ status: 200, failed: false });
});

test("send() has failed after 5 seconds when a fault delays longer, and arrives all the same", async () => {
  const deliver = vi.fn(never);
  const { send, faults, clock, deliveries } = outboxOf(deliver);
  const start = clock.now();
  faults.set("delivery", { delayMs: 600_000 });
  const sent = send(parcel);
  clock.advance(5_000);
  const outcome = { failed: true, status: null, durationMs: 5_000, at: new Date(start) };
  expect(await sent).toMatchObject(outcome);
  clock.advance(594_000);
  expect(deliver).not.toHaveBeenCalled();
  clock.advance(1_000);
  expect(deliver).toHaveBeenCalledTimes(1);
  expect(deliver.mock.calls[0]?.[0].signal.aborted).toBe(false);
  clock.advance(5_000);
  expect(deliver.mock.calls[0]?.[0].signal.aborted).toBe(true);
  expect(deliveries).toMatchObject([outcome]);
});

test("a notification overtakes one that a fault delays", async () => {
  const arrived: (string | null)[] = [];
  const { send, faults, clock, settled } = outboxOf(async (request) => {
    arrived.push(await request.text());
    return new Response();
  });
  const of = (body: string) => send({ ...parcel, notification: { ...parcel.notification, body } });
  faults.set("delivery", { delayMs: 10_000, times: 1 });
  const first = of("first");
  expect(await of("second")).toMatchObject({ failed: false });
  clock.advance(10_000);
  expect(await first).toMatchObject({ failed: true });
  await vi.waitFor(() => expect(arrived).toEqual(["second", "first"]));
  await settled();
});

test("send() succeeds when a fault delays by less than 5 seconds", async () => {
  const { send, faults, clock } = outboxOf(async () => new Response());
  faults.set("delivery", { delayMs: 4_000 });
  const sent = send(parcel);
  clock.advance(4_000);
  expect(await sent).toMatchObject({ failed: false, status: 200, durationMs: 4_000 });
});

test("abort() holds back notifications that a fault delays, failed or not", () => {
  const deliver = vi.fn(never);
  const { send, faults, clock, abort, deliveries } = outboxOf(deliver);
  faults.set("delivery", { delayMs: 60_000 });
  void send(parcel);
  clock.advance(10_000);
  void send(parcel);
  abort("closed");
  clock.advance(120_000);
  expect(deliver).not.toHaveBeenCalled();
  expect(deliveries).toHaveLength(2);
});

test("send() sends the same bytes and signature twice when a fault duplicates", async () => {
  const bodies: string[] = [];
  const { send, faults, settled, deliveries } = outboxOf(async (request) => {
    bodies.push(`${request.headers.get("x-svc-authorization")} ${await request.text()}`);
    return new Response();
  });
  faults.set("delivery", { duplicate: true, times: 1 });
  const delivery = await send(parcel);
  await settled();
  expect(bodies).toEqual(['s-1 {"a":1}', 's-1 {"a":1}']);
  expect(deliveries).toHaveLength(2);
  expect(deliveries[0]).toBe(delivery);
  expect(new Set(deliveries.map(({ id }) => id)).size).toBe(2);
});

test("settled() waits for deliveries that begin meanwhile", async () => {
  let left = 3;
  const outbox = outboxOf(async () => {
    left -= 1;
    if (left > 0) void outbox.send(parcel);
    return new Response();
  });
  void outbox.send(parcel);
  await outbox.settled();
  expect(outbox.deliveries).toHaveLength(3);
});

test("abort() fails notifications under way, sent or still delayed", async () => {
  const { send, faults, abort, deliveries, settled } = outboxOf(never);
  void send(parcel);
  faults.set("delivery", { delayMs: 3_600_000 });
  void send(parcel);
  abort("That was all.");
  expect(deliveries).toMatchObject([{ error: "That was all." }, { error: "That was all." }]);
  await settled();
});
