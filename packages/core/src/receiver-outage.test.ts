import { answeredWith } from "@reporthook/test-support/jobs";
import { type Setup, setUp, turns } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it, vi } from "vitest";
import type { Authorizer } from "./client/authorizer.ts";
import { createClient, type Verdict } from "./client/client.ts";
import { ServiceError } from "./errors.ts";
import { memoryInbox } from "./inbox/memory/memory-inbox.ts";
import type { ReceiverOptions } from "./options/receiver-options.ts";

const second = 1_000;
const minute = 60 * second;
const authorizeMs = 50;

type Trouble = "gone" | "hangs" | 503 | 500 | 422 | 404 | 401 | 400 | null;

interface Stressed extends Setup {
  /** The fault of the service. */
  trouble: Trouble;
  /** When it was asked, and by which signature. */
  readonly asked: { readonly at: number; readonly signature: string }[];
  /** The most calls at once. */
  readonly most: number;
  /** A delivery every `everyMs` for so long, each signed as it is sent. */
  run(ms: number): Promise<void>;
  /** No deliveries for so long. */
  rest(ms: number): Promise<void>;
  /** One whose signature was made so long ago. */
  sendOld(ageMs: number): Promise<string>;
}

/** A receiver, and a service on virtual time that takes 50 ms for a verdict, if it gives one. */
function stress(options: Partial<ReceiverOptions> = {}, everyMs = 100): Stressed {
  let atOnce = 0;
  let number = 0;
  const wait = (ms: number) =>
    new Promise<void>((resolve) => void clock.setTimeout(() => resolve(), ms));
  const client: Authorizer = {
    async authorize(signature): Promise<Verdict> {
      const { trouble } = stressed;
      stressed.asked.push({ at: clock.now(), signature });
      stressed.most = Math.max(stressed.most, ++atOnce);
      await wait(trouble === "hangs" ? 10 * second : authorizeMs);
      atOnce--;
      if (trouble === null) {
        return clock.now() - Number(signature.split(" ")[0]) > 5 * minute ? "expired" : "valid";
      }
      const retryable = true;
      if (trouble === "gone") throw new ServiceError("service_unreachable", "gone", { retryable });
      if (trouble === "hangs") throw new ServiceError("service_timeout", "hangs", { retryable });
      throw answeredWith(trouble);
    },
  };
  const setup = setUp({ client, ...options });
  const { clock } = setup.emulator;
  setup.seeAll();
  const send = async (triggeredAt: number): Promise<string> => {
    const headers = { "X-svc-authorization": `${triggeredAt} ${++number}` };
    const { status, body } = await setup.post({ body: '{"status":"complete"}', headers });
    expect(status).toBe(200);
    return body.id;
  };
  const advance = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += everyMs) {
      clock.advance(everyMs);
      await turns(2);
    }
  };
  const stressed: Stressed & { most: number } = {
    ...setup,
    trouble: null,
    asked: [],
    most: 0,
    async run(ms) {
      for (let passed = 0; passed < ms; passed += everyMs) {
        await send(clock.now());
        await advance(everyMs);
      }
    },
    rest: advance,
    sendOld: (ageMs) => send(clock.now() - ageMs),
  };
  return stressed;
}

describe("outages", () => {
  it.each(["gone", "hangs", 503] as const)(
    "an outage of 4 minutes (%s) at 5 deliveries a second costs no verdict, and few calls",
    async (trouble) => {
      const service = stress({}, 200);
      await service.run(10 * second);
      const before = service.asked.length;
      service.trouble = trouble;
      await service.run(4 * minute);
      const during = service.asked.length - before;
      service.trouble = null;
      await service.run(40 * second);
      await service.rest(5 * second);
      const { receiver, seen, most } = service;
      expect(await receiver.inbox.counts()).toMatchObject({ handled: 1_000, received: 0, held: 0 });
      expect(seen).toHaveLength(1_450);
      expect(new Set(seen.map(({ verification }) => verification))).toEqual(new Set(["valid"]));
      // As many as were under way, then one probe after 1, 2, 4, 8, 10, 10, … seconds.
      expect(during).toBeLessThanOrEqual(16 + 4 + 24 / 0.75);
      expect(most).toBeLessThanOrEqual(16);
    },
  );

  it.each([400, 404, 422] as const)(
    "an outage of 40 seconds in which each signature is answered %d costs no verdict but those of the first four",
    async (trouble) => {
      const service = stress({}, second);
      await service.run(10 * second);
      service.trouble = trouble;
      await service.run(40 * second);
      service.trouble = null;
      await service.run(20 * second);
      const { receiver, seen } = service;
      const { held, handled } = await receiver.inbox.counts();
      expect(held).toBeLessThanOrEqual(4);
      expect([handled + held, seen.length]).toEqual([70, handled]);
    },
  );

  it("a flood of signatures that are answered 400 is held while others are judged", async () => {
    const client: Authorizer = {
      async authorize(signature) {
        if (!signature.startsWith("junk")) return "valid";
        throw answeredWith(400);
      },
    };
    const { receiver, post, send, pass } = setUp({ client });
    for (let sent = 0; sent < 90; sent++) {
      const headers = { "X-svc-authorization": `junk${sent}` };
      if (sent < 60) await post({ body: "{}", headers });
      if (sent % 10 === 0) await send("report.complete");
      await pass(second, 100);
    }
    expect(await receiver.inbox.counts()).toMatchObject({ held: 60, received: 0, handled: 9 });
  });

  it.each(["hold", "handle-after-outage"] as const)(
    "an outage of 10 minutes with expired: %s has late deliveries held for a reason, or handled",
    async (expired) => {
      const service = stress({ expired }, 250);
      await service.run(5 * second);
      service.trouble = "gone";
      await service.run(10 * minute);
      service.trouble = null;
      await service.run(20 * second);
      // Deliveries past their 5 minutes come again after at most 5 minutes.
      await service.rest(6 * minute);
      const { receiver, observed, seen } = service;
      const parked = observed.filter(([name]) => name === "parked").map(([, entry]) => entry);
      const late = seen.filter(({ verification }) => verification === "expired");
      const tooLate = expired === "hold" ? parked : late;
      expect(tooLate.length).toBeGreaterThan(1_160);
      // The newest go first: of what waited longest, some hundred are asked about too late.
      expect(tooLate.length).toBeLessThan(1_400);
      expect(parked).toHaveLength(expired === "hold" ? tooLate.length : 0);
      expect(seen.length + parked.length).toBe(2_500);
      for (const { reason } of parked) {
        expect(reason).toMatchObject({
          code: "expired",
          message: expect.stringMatching("while the service was unavailable"),
        });
      }
      const old = await service.sendOld(10 * minute);
      await service.rest(5 * second);
      expect(await receiver.inbox.get(old)).toMatchObject({
        state: "held",
        reason: { code: "expired" },
      });
      expect((await receiver.inbox.get(old))?.reason?.message).not.toMatch("its fault");
    },
  );

  it("an app that gives no key is told so as a critical problem", async () => {
    const client = createClient({
      baseUrl: "https://api.example",
      apiKey: () => Promise.reject(new Error("the vault is sealed")),
    });
    const { receiver, send, pass } = setUp({ client });
    for (let count = 0; count < 3; count++) await send("report.processing");
    await pass(70 * second, second);
    const { problems, service } = await receiver.health();
    expect(service).toBe("unreachable");
    const text = expect.stringContaining("Last error: Error: The function given as apiKey threw");
    expect(problems[0]).toMatchObject({
      code: "no_verdicts",
      severity: "critical",
      count: 3,
      text,
    });
  });

  it("a stranger whose signatures no header can carry causes no critical problem, and no call of the service", async () => {
    const signature = ({ url }: { readonly url: string }) =>
      new URL(url, "http://app").searchParams.get("sig");
    const fetch = vi.fn();
    const client = createClient({ baseUrl: "https://api.example", apiKey: "k", fetch });
    const { receiver, post, pass } = setUp({ client, signature });
    for (let count = 0; count < 5; count++) {
      const url = `http://app/hook?sig=${encodeURIComponent(`\u65e5${count}`)}`;
      expect((await post({ body: "{}" }, url)).status).toBe(200);
    }
    await pass(70 * second, second);
    const { problems, service } = await receiver.health();
    expect(service).toBe("unknown");
    expect(problems.filter(({ severity }) => severity === "critical")).toEqual([]);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("a failure that only some signatures meet keeps no other waiting for long", async () => {
    const poison = { body: "{}", headers: { "X-svc-authorization": "poison" } };
    const client: Authorizer = {
      async authorize(signature) {
        if (signature !== "poison") return "valid";
        throw answeredWith(503);
      },
    };
    const { post, send, seen, seeAll, pass } = setUp({ client });
    seeAll();
    for (let sent = 0; sent < 8; sent++) await post({ ...poison, body: `{"a":${sent}}` });
    await turns();
    await send("report.complete");
    await pass(90 * second, second);
    expect(seen).toHaveLength(1);
  });

  it("a stranger's refused signatures hide no genuine one after a restart: the key has worked before", async () => {
    const inbox = memoryInbox();
    const before = stress({ inbox });
    await before.run(10 * second);
    await before.receiver.close();
    const service = stress({ inbox });
    service.trouble = 401;
    await service.run(60 * second);
    // Where no key has worked, there is one probe after 1, 2, 4, 8, 16 and 30 seconds.
    expect(service.asked.length).toBeGreaterThan(3 * 60);
  });

  it("an outage uses up no attempts while nobody is asked", async () => {
    const service = stress();
    service.trouble = "gone";
    await service.run(30 * second);
    const entries = await service.receiver.inbox.list({ limit: 1_000 });
    const attempts = entries.reduce((sum, entry) => sum + entry.attempts, 0);
    expect(entries).toHaveLength(300);
    // One call may be under way.
    expect(service.asked.length - attempts).toBeLessThanOrEqual(1);
    expect(service.asked.length).toBeLessThanOrEqual(16);
    expect(entries.at(-1)).toMatchObject({
      attempts: 0,
      lastError: expect.stringMatching("Not asked"),
    });
  });

  it("an outage ends with the newest deliveries first", async () => {
    const service = stress({ concurrency: { verify: 4 } });
    service.trouble = "gone";
    await service.run(6 * minute);
    service.trouble = null;
    const from = service.asked.length;
    while (service.asked.length < from + 600) await service.rest(second);
    // The deliveries that came due at one moment; a few are asked about as they come.
    const waited = service.asked
      .slice(from + 1)
      .map(({ at, signature }) => ({ at, triggered: Number(signature.split(" ")[0]) }))
      .filter(({ at, triggered }) => at - triggered > minute);
    expect(waited.length).toBeGreaterThan(100);
    expect(waited).toEqual([...waited].sort((a, b) => b.triggered - a.triggered));
  });
});
