import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { gate, setUp, slowRequest, turns } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it, onTestFinished } from "vitest";
import { nodeHandler } from "./http/node-handler.ts";
import { memoryInbox } from "./inbox/memory/memory-inbox.ts";

const never = (): Promise<never> => new Promise(() => {});
const json = { "content-type": "application/json" };

describe("answers", () => {
  it.each([
    ["hangs", never],
    ["rejects", () => Promise.reject(new Error("disk full"))],
    [
      "throws",
      () => {
        throw new Error("disk full");
      },
    ],
  ])("the answer is 503 within ackMs when the inbox %s", async (_, add) => {
    const inbox = Object.assign(memoryInbox(), { add });
    const { emulator, send, lines, seeAll } = setUp({ inbox, limits: { ackMs: 1_500 } });
    seeAll();
    const answer = send("report.complete");
    await turns();
    emulator.clock.advance(1_500);
    const { status, body, headers } = await answer;
    expect([status, body.code]).toEqual([503, "inbox_unavailable"]);
    expect(headers.get("retry-after")).not.toBeNull();
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(lines).toMatchObject([{ level: "error", fields: { error: expect.any(String) } }]);
  });

  it.each([
    ["bodyMs", { bodyMs: 700 }, 700],
    ["a smaller ackMs", { ackMs: 300 }, 300],
  ])("the answer is 408 when the body does not arrive within %s", async (_, limits, ms) => {
    const { emulator, receiver } = setUp({ limits });
    let answered = false;
    const answer = receiver.fetch(slowRequest(never())).finally(() => {
      answered = true;
    });
    await turns();
    emulator.clock.advance(ms - 100);
    await turns();
    expect(answered).toBe(false);
    emulator.clock.advance(100);
    const response = await answer;
    expect([response.status, response.headers.get("connection")]).toEqual([408, "close"]);
    expect(await response.json()).toMatchObject({ code: "body_timeout" });
  });

  it("the inbox has the time that the body has left of ackMs", async () => {
    const inbox = Object.assign(memoryInbox(), { add: never });
    const { emulator, receiver } = setUp({ inbox, limits: { bodyMs: 900, ackMs: 1_000 } });
    const arrival = gate();
    const answer = receiver.fetch(slowRequest(arrival.opened));
    await turns();
    emulator.clock.advance(800);
    arrival.open();
    await turns();
    emulator.clock.advance(200);
    expect((await answer).status).toBe(503);
  });

  it("the answer is 503 when the option signature throws, and the log says so once a minute", async () => {
    const { send, lines, seeAll } = setUp({
      signature() {
        throw new Error("my bug");
      },
    });
    seeAll();
    for (let sent = 0; sent < 3; sent++)
      expect(await send("report")).toMatchObject({ status: 503 });
    expect(lines).toMatchObject([
      { level: "error", fields: { error: expect.stringContaining("my bug") } },
    ]);
  });

  it("the checks of a request come in the documented order", async () => {
    const { post, receiver, send } = setUp({ limits: { bodyBytes: 100 } });
    const signed = { "X-svc-authorization": "s" };
    const cases: [object, number, string][] = [
      [{ method: "GET" }, 405, "method_not_allowed"],
      [{ method: "PUT", body: "x".repeat(101) }, 405, "method_not_allowed"],
      [{ body: "x".repeat(101), headers: signed }, 413, "body_too_large"],
      [{ body: "x".repeat(101), headers: { "content-type": "text/csv" } }, 413, "body_too_large"],
      [{ body: "{", headers: { "content-type": "text/csv" } }, 415, "unsupported_media_type"],
      [
        { body: "{}", headers: { ...json, "content-encoding": "br" } },
        415,
        "unsupported_media_type",
      ],
      [{ body: "{", headers: json }, 400, "invalid_json"],
      [{ body: "[]", headers: json }, 400, "invalid_json"],
    ];
    for (const [given, status, code] of cases) {
      expect(await post(given), JSON.stringify(given)).toMatchObject({ status, body: { code } });
    }
    expect((await post({ method: "GET" as "POST" })).headers.get("allow")).toBe("POST");
    expect((await post({ body: "{", headers: signed })).status).toBe(200);
    await receiver.close();
    expect(await send("report")).toMatchObject({ status: 503, body: { code: "closing" } });
  });

  it("the answer is 500 body_unavailable when something ahead has consumed or locked the body", async () => {
    const { receiver, lines, seeAll } = setUp();
    seeAll();
    const consumed = new Request("http://localhost/", { method: "POST", body: "{}" });
    await consumed.text();
    const locked = new Request("http://localhost/", { method: "POST", body: "{}" });
    locked.body?.getReader();
    for (const request of [consumed, locked]) {
      const response = await receiver.fetch(request);
      expect(response.status).toBe(500);
      expect(await response.json()).toMatchObject({ code: "body_unavailable" });
    }
    expect(lines).toHaveLength(1);
  });

  it("the answer over node:http is that over fetch()", async () => {
    const { receiver, emulator, seen, seeAll } = setUp();
    const server = createServer(nodeHandler(receiver));
    seeAll();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { headers, body } = emulator.notification("report.complete");
    const status = await new Promise((resolve, reject) => {
      const sent = request(
        `http://127.0.0.1:${port}/hook?x=%20`,
        { method: "POST", headers },
        (response) => {
          response.resume().on("end", () => resolve(response.statusCode));
        },
      );
      sent.on("error", reject).end(body);
    });
    expect(status).toBe(200);
    await receiver.idle();
    expect(seen).toHaveLength(1);
  });
});

describe("limits", () => {
  it("limits.unverified and limits.waiting refuse deliveries over them as overloaded, exactly, and log it", async () => {
    for (const limit of ["unverified", "waiting"] as const) {
      const { send, receiver, lines } = setUp({
        ...{ client: { authorize: never }, limits: { [limit]: 5 } },
      });
      const answers = await Promise.all(Array.from({ length: 20 }, () => send("report")));
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(5);
      expect(answers.at(-1)?.body.code).toBe("overloaded");
      expect(answers.at(-1)?.headers.get("retry-after")).not.toBeNull();
      expect((await receiver.inbox.counts()).received).toBe(5);
      expect(lines.filter(({ message }) => message.includes("too many"))).toHaveLength(1);
    }
  });

  it("a receiver answers overloaded when the inbox has no room", async () => {
    const { send } = setUp({ inbox: memoryInbox({ maxBytes: 10 }) });
    expect(await send("report")).toMatchObject({ status: 503, body: { code: "overloaded" } });
  });

  it("a receiver keeps a flood of unsigned tests to 10 a second and 100 waiting", async () => {
    const { send, emulator, receiver, lines } = setUp({ autostart: false });
    const flood = async (): Promise<number> => {
      const sent = Array.from({ length: 30 }, () =>
        send("test_webhook_endpoint", { signature: "none" }),
      );
      return (await Promise.all(sent)).filter(({ status }) => status === 200).length;
    };
    expect(await flood()).toBeLessThanOrEqual(11);
    emulator.clock.advance(1_000);
    expect(await flood()).toBeLessThanOrEqual(11);
    for (let second = 0; second < 20; second++) {
      emulator.clock.advance(1_000);
      await flood();
    }
    expect(await receiver.inbox.counts()).toMatchObject({ verified: 100, held: 0 });
    expect(await send("test_webhook_endpoint", { signature: "none" })).toMatchObject({
      ...{ status: 401, body: { code: "missing_signature" } },
    });
    expect(lines.map(({ message }) => message).sort()).toEqual([
      expect.stringContaining("before start()"),
      expect.stringContaining("too many"),
    ]);
    expect(await send("report.complete")).toMatchObject({ status: 200 });
  });

  it("a receiver keeps a flood of other unsigned notifications to 1,000 held and 4 KiB each", async () => {
    const { send, emulator, receiver } = setUp();
    const large = { filler: "x".repeat(4_100) };
    expect(await send("report", { signature: "none", body: large })).toMatchObject({
      ...{ status: 413, body: { code: "body_too_large" } },
    });
    for (let second = 0; second < 110; second++) {
      emulator.clock.advance(1_000);
      const sent = Array.from({ length: 12 }, () => send("report", { signature: "none" }));
      await Promise.all(sent);
    }
    expect(await receiver.inbox.counts()).toMatchObject({ held: 1_000, verified: 0 });
    expect(await send("report", { signature: "none" })).toMatchObject({
      ...{ status: 401, body: { code: "missing_signature" } },
    });
    expect(await send("report.complete")).toMatchObject({ status: 200 });
    await receiver.idle();
    expect(await receiver.inbox.counts()).toMatchObject({ handled: 1 });
  });

  it("a receiver names the headers of unsigned notifications in the log, once a minute with a count", async () => {
    const { post, emulator, lines, seeAll } = setUp();
    seeAll();
    const headers = { ...json, "x-maybe-signature": "the-secret-value" };
    for (let sent = 0; sent < 3; sent++) await post({ body: "{}", headers });
    expect(lines).toMatchObject([
      { level: "warn", fields: { headers: expect.arrayContaining(["x-maybe-signature"]) } },
    ]);
    emulator.clock.advance(60_000);
    await post({ body: "{}", headers });
    expect(lines[1]).toMatchObject({ fields: { count: 3 } });
    expect(JSON.stringify(lines)).not.toContain("the-secret-value");
  });

  it("a receiver takes the signature from where the option signature says", async () => {
    const named = setUp({ signature: "X-Other" });
    named.seeAll();
    const genuine = named.emulator.notification("report.complete");
    const signature = genuine.headers["X-svc-authorization"] ?? "";
    await named.post({ ...genuine, headers: { ...json, "x-other": ` ${signature} ` } });
    await named.receiver.idle();
    expect(named.seen).toHaveLength(1);

    const found = setUp({
      signature: ({ headers, url, body }) =>
        headers["content-type"] === "application/json" && url === "/hook?a=1"
          ? (JSON.parse(body) as { sig: string }).sig
          : null,
    });
    found.seeAll();
    const own = found.emulator.notification("report").headers["X-svc-authorization"];
    await found.post({ body: JSON.stringify({ status: "complete", sig: own }), headers: json });
    await found.receiver.idle();
    expect(found.seen).toMatchObject([{ type: "report.complete" }]);
    expect(await found.post({ body: '{"sig":"  "}', headers: json })).toMatchObject({
      status: 200,
    });
    expect(await found.receiver.inbox.counts()).toMatchObject({ held: 1 });
  });
});
