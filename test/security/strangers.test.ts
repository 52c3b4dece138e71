import { type Inbox, memoryInbox, type ReceiverOptions, ServiceError } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { type Setup, setUp, slowRequest, turns } from "@reporthook/test-support/receiver-setup";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { describe, expect, it } from "vitest";

/** The service's answer about a signature; it throws for an answer without a verdict. */
type Judge = (signature: string) => Promise<"valid"> | "valid";

const refuse = (status: number) => {
  const code = status === 401 || status === 403 ? "service_refused" : "service_failed";
  throw new ServiceError(code, `POST … ${status}`, { serviceStatus: status, retryable: true });
};

function inboxOf(kind: string): Inbox {
  if (kind === "memory") return memoryInbox();
  return sqliteInbox(temporaryPath());
}

function scene(kind: string, judge: Judge) {
  const setup = setUp({
    inbox: inboxOf(kind),
    client: { authorize: async (signature) => judge(signature) },
  });
  setup.seeAll();
  let sent = 0;
  const post = (signature: string) => {
    const headers = { "content-type": "application/json", "X-svc-authorization": signature };
    return setup.post({ body: `{"status":"complete","report_id":"${++sent}"}`, headers });
  };
  const rest = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      setup.emulator.clock.advance(1_000);
      await turns(kind === "memory" ? 4 : 30);
    }
  };
  return { ...setup, post, rest };
}

describe.each(["memory", "sqlite"])(
  "answers that concern single signatures, with the inbox in %s",
  (kind) => {
    it.each([400, 401, 403, 404, 422])(
      "a %i for 20 single signatures stops no other",
      async (status) => {
        const { post, rest, receiver, seen, lines, advanceUntil } = scene(kind, (signature) =>
          signature.startsWith("junk") ? refuse(status) : "valid",
        );
        for (let junk = 0; junk < 20; junk++) await post(`junk-${junk}`);
        await rest(1);
        for (let genuine = 0; genuine < 30; genuine++) {
          await post(`genuine-${genuine}`);
          await rest(2);
        }
        await advanceUntil(() => seen.length === 30);
        // SQLite's thread may take longer than a rest.
        while ((await receiver.inbox.counts()).received > 0) await rest(1);
        expect((await receiver.health()).service).toBe("ok");
        expect(await receiver.inbox.counts()).toMatchObject({ handled: 30, held: 20, received: 0 });
        const [one] = await receiver.inbox.list({ state: "held", limit: 1 });
        expect(one).toMatchObject({ reason: { code: "not_verified" } });
        // Before any was judged it may have been the key.
        const loud = lines.filter(({ level }) => level === "error");
        expect(loud.length).toBeLessThanOrEqual(1);
      },
    );

    it.each([
      ["one a second", 1, 0],
      ["five a second", 5, 0],
      ["one a second, with a long Retry-After", 1, 3_600_000],
    ])("a 403 for junk, %s, stops no rare other", async (_name, rate, retryAfterMs) => {
      const { post, rest, seen, advanceUntil, emulator } = scene(kind, (signature) => {
        if (!signature.startsWith("junk")) return "valid";
        throw new ServiceError("service_refused", "403", {
          serviceStatus: 403,
          retryable: false,
          retryAfterMs,
        });
      });
      await post("genuine-first");
      // Before any was judged a refusal may be that of the key.
      await advanceUntil(() => seen.length === 1);
      for (let second = 0; second < 300; second++) {
        for (let junk = 0; junk < rate; junk++) await post(`junk-${second}-${junk}`);
        // At the same millisecond chance alone would decide which of them is the newest.
        emulator.clock.advance(1);
        if (second % 30 === 29) await post(`genuine-${second}`);
        await rest(1);
      }
      // While the junk still comes; the last one may wait for its turn.
      expect(seen.length).toBeGreaterThanOrEqual(10);
    });

    it("an error of the app's own authorize for single signatures stops no other", async () => {
      const { post, rest, seen, receiver, advanceUntil } = scene(kind, (signature) => {
        if (signature.startsWith("junk")) throw new Error("unknown tenant");
        return "valid";
      });
      for (let second = 0; second < 40; second++) {
        for (let junk = 0; junk < 10; junk++) await post(`junk-${second}-${junk}`);
        await post(`genuine-${second}`);
        await rest(1);
      }
      await advanceUntil(() => seen.length === 40);
      expect((await receiver.health()).service).toBe("ok");
    });

    it("a 403 for ten times as many as are judged never blames the key once one was judged", async () => {
      const { post, rest, seen, lines, receiver, advanceUntil } = scene(kind, (signature) =>
        signature.startsWith("junk") ? refuse(403) : "valid",
      );
      await post("genuine");
      await advanceUntil(() => seen.length === 1);
      await post("junk");
      await advanceUntil(() => lines.length > 0);
      await post("genuine-1");
      // While the clock stands: what it shows holds for five minutes.
      await expect.poll(() => seen.length).toBe(2);
      for (let second = 0; second < 60; second++) {
        for (let junk = 0; junk < 10; junk++) await post(`junk-${second}-${junk}`);
        if (second % 10 === 0) await post(`genuine-${second}`);
        await rest(1);
      }
      await advanceUntil(() => seen.length === 8);
      expect(lines.filter(({ level }) => level === "error")).toEqual([]);
      expect((await receiver.health()).service).toBe("ok");
    });
  },
);

describe("the key", () => {
  it("a key that is refused is blamed and pauses the stage also when signatures were judged before", async () => {
    let isRefused = false;
    let calls = 0;
    const { post, rest, seen, lines, receiver } = scene("memory", () => {
      calls++;
      return isRefused ? refuse(401) : "valid";
    });
    for (let sent = 0; sent < 5; sent++) await post(`before-${sent}`);
    await rest(1);
    isRefused = true;
    calls = 0;
    for (let sent = 0; sent < 40; sent++) await post(`after-${sent}`);
    await rest(60);
    // The calls under way, then at most four probes a second; without the pause each of the 40 would be asked about nine times.
    expect(calls).toBeLessThanOrEqual(16 + 60 * 4);
    expect((await receiver.health()).service).toBe("refused");
    expect(lines.filter(({ level }) => level === "error").length).toBeGreaterThanOrEqual(1);
    expect(await receiver.inbox.counts()).toMatchObject({ received: 40, held: 0 });
    isRefused = false;
    await rest(35);
    expect(seen.length).toBe(45);
  });
});

const json = { "content-type": "application/json" };
const signed = { ...json, "X-svc-authorization": "junk" };
const secrets = ["0123456789abcdef0123456789abcdef"];

/** The requests of strangers: a name, how one is sent, and the problems that the default options show of it. */
const sendings: readonly (readonly [
  string,
  (setup: Setup, turn: number) => Promise<unknown>,
  readonly string[],
])[] = [
  [
    "without a signature",
    ({ post }, turn) => post({ headers: json, body: `{"status":"complete","n":${turn}}` }),
    ["parked"],
  ],
  ["without a signature or JSON", ({ post }) => post({ headers: json, body: "{" }), []],
  [
    "without a signature, too large",
    ({ post }) => post({ headers: json, body: "x".repeat(5_000) }),
    [],
  ],
  ["that is no POST", ({ receiver }) => receiver.fetch(new Request("http://localhost/")), []],
  [
    "with a junk signature that is answered 406",
    ({ send }) => send("report.complete", { signature: "invalid" }),
    ["all_rejected"],
  ],
  [
    "with a junk signature that is answered 400",
    ({ emulator, send }) => {
      emulator.fault("authorize", { status: 400, times: 1 });
      return send("report.complete", { signature: "invalid" });
    },
    ["all_rejected"],
  ],
  [
    "with a junk signature that is judged late",
    async ({ emulator, send }) => {
      emulator.fault("authorize", { delayMs: 4_500, times: 1 });
      const answer = send("report.complete", { signature: "invalid" });
      await turns();
      emulator.clock.advance(4_000);
      return answer;
    },
    ["all_rejected"],
  ],
  [
    "with an old genuine signature",
    ({ send }, turn) => send("report", { signature: "expired", body: { turn } }),
    ["parked"],
  ],
  [
    "with a junk signature, too large",
    ({ post }) => post({ headers: signed, body: "x".repeat(300_000) }),
    ["lost"],
  ],
  [
    "with a junk signature and a body that never ends",
    async ({ receiver, emulator }) => {
      const answer = receiver.fetch(slowRequest(new Promise(() => {})));
      await turns(4);
      emulator.clock.advance(2_000);
      return answer;
    },
    ["lost"],
  ],
  [
    "with a token that is not ours",
    async ({ receiver, emulator }) => {
      const { headers, body } = emulator.notification("report.complete", { signature: "invalid" });
      const url = `http://localhost/hook?callback_token=1.AAAA.${"A".repeat(43)}`;
      return receiver.fetch(new Request(url, { method: "POST", headers, body }));
    },
    ["all_rejected"],
  ],
];

const receivers: readonly (readonly [string, Partial<ReceiverOptions>])[] = [
  ["by default", {}],
  ["with verify: before-ack", { verify: "before-ack" }],
  ["with ack: handled", { ack: "handled" }],
  ["with callback.require", { callback: { secrets, require: true } }],
  ["with unsigned: refuse", { unsigned: "refuse" }],
  [
    "with a function that fails without a signature",
    { signature: ({ headers }) => headers["x-svc-authorization"]?.trim() ?? fails() },
  ],
];

function fails(): never {
  throw new TypeError("Cannot read properties of undefined (reading 'trim')");
}

describe("problems", () => {
  describe.each(receivers)("%s", (name, options) => {
    it.each(sendings)(
      "nothing critical, and a line a minute, comes of requests %s",
      async (_, send, shown) => {
        const setup = setUp(options);
        const { receiver, emulator } = setup;
        setup.seeAll();
        const { headers, body } = emulator.notification("report.complete");
        const url =
          options.callback === undefined
            ? "http://localhost/hook"
            : await receiver.callbackUrl("http://localhost/hook");
        const first = await receiver.fetch(new Request(url, { method: "POST", headers, body }));
        expect(first.status).toBe(200);
        await turns();
        const seen = new Set<string>();
        const begun = emulator.clock.now();
        for (let turn = 0; turn < 20; turn++) {
          await send(setup, turn);
          emulator.clock.advance(5_000);
          await turns();
          for (const { code, severity } of (await receiver.health()).problems) {
            seen.add(code);
            expect(severity, code).toBe("warning");
          }
        }
        if (name === "by default") expect([...seen]).toEqual(shown);
        const seconds = (emulator.clock.now() - begun) / 1_000;
        for (const { message } of setup.lines) {
          const alike = setup.lines.filter((line) => line.message === message);
          expect(alike.length, message).toBeLessThanOrEqual(1 + seconds / 60);
        }
      },
    );
  });
});
