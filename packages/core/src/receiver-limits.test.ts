import {
  gate,
  hasSettled,
  never,
  setUp,
  slowRequest,
  turns,
} from "@reporthook/test-support/receiver-setup";
import { describe, expect, it } from "vitest";
import { type Incoming, readingOf } from "./http/incoming.ts";
import { memoryInbox } from "./inbox/memory/memory-inbox.ts";
import { messages } from "./log-messages.ts";

const json = { "content-type": "application/json" };

const withBody = (readBody: Incoming["readBody"]): Incoming => ({
  method: "POST",
  url: "/hook",
  headers: { "x-svc-authorization": "s-1" },
  readBody,
});
const throwsLocked = (): never => {
  throw new TypeError("locked");
};

describe("answers", () => {
  it.each([
    ["bodyMs", { bodyMs: 700 }, 700],
    ["a smaller ackMs", { ackMs: 300 }, 300],
  ])("the answer is 408 when the body does not arrive within %s", async (_, limits, ms) => {
    const { receiver, pass } = setUp({ limits });
    const answer = receiver.fetch(slowRequest(never()));
    await turns();
    await pass(ms - 100);
    expect(await hasSettled(answer)).toBe(false);
    await pass(100);
    const response = await answer;
    expect([response.status, response.headers.get("connection")]).toEqual([408, "close"]);
    expect(await response.json()).toMatchObject({ code: "body_timeout" });
  });

  it("the receiver stops reading a body that does not arrive in time", async () => {
    const { emulator, receiver } = setUp({ limits: { bodyMs: 700 } });
    let stopped = 0;
    const stop = () => void stopped++;
    const answer = receiver.mount()(withBody(() => ({ result: never(), stop })));
    emulator.clock.advance(700);
    expect((await answer).status).toBe(408);
    expect(stopped).toBe(1);
  });

  it.each([
    ["too large", () => readingOf("too_large", 1), 413, "body_too_large"],
    ["unavailable", () => readingOf("unavailable", 1), 500, "body_unavailable"],
    ["cut off", () => readingOf("cut_off", 1), 408, "body_timeout"],
    ["held by something ahead", throwsLocked, 500, "body_unavailable"],
  ] as const)(
    "the answer to a request whose body is %s is as documented, and the log says what to change of a 500",
    async (_, readBody, status, code) => {
      const { receiver, lines } = setUp();
      const answer = await receiver.mount()(withBody(readBody));
      expect([answer.status, JSON.parse(answer.body).code]).toEqual([status, code]);
      const said = lines.filter(({ message }) => message === messages.bodyUnavailable);
      expect(said).toHaveLength(status === 500 ? 1 : 0);
    },
  );

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
});

describe("limits", () => {
  it("limits.unverified and limits.waiting refuse deliveries over them as overloaded, exactly, and log it", async () => {
    for (const limit of ["unverified", "waiting"] as const) {
      const { send, receiver, lines } = setUp({
        client: { authorize: never },
        limits: { [limit]: 5 },
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

  it("a receiver takes the signature from the header that the option signature names", async () => {
    const { receiver, emulator, post, seen, seeAll } = setUp({ signature: "X-Other" });
    seeAll();
    const genuine = emulator.notification("report.complete");
    const signature = genuine.headers["X-svc-authorization"] ?? "";
    await post({ ...genuine, headers: { ...json, "x-other": ` ${signature} ` } });
    await receiver.idle();
    expect(seen).toHaveLength(1);
  });
});
