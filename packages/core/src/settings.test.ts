import { afterEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "./clock.ts";
import { memoryInbox } from "./memory-inbox.ts";
import type { ReceiverOptions } from "./options.ts";
import { settingsOf } from "./settings.ts";

const client = { authorize: async () => "valid" as const };
const { guarantees } = memoryInbox();
const forgetful = Object.assign(memoryInbox(), {
  guarantees: { ...guarantees, noticesReuse: false },
});
const settings = (options: object = {}) =>
  settingsOf({ client, logger: false, ...options } as ReceiverOptions);

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

describe("settingsOf", () => {
  it("settingsOf() fills in the defaults of the contract", () => {
    const { inbox, ...rest } = settings();
    expect(inbox.guarantees.durability).toBe("process");
    expect(rest).toMatchObject({
      ...{ client, name: "reports", ack: "stored", verify: "after-ack" },
      ...{ signature: "X-svc-authorization", unsignedTests: "accept", unsigned: "hold" },
      ...{ expired: "hold", reusedSignature: "accept", parse: undefined, schemas: undefined },
      retry: { attempts: 10, minMs: 1_000, maxMs: 3_600_000 },
      limits: {
        ...{ bodyBytes: 262_144, bodyMs: 2_000, verifyMs: 2_500, ackMs: 4_000 },
        ...{ waiting: 100_000, unverified: 20_000 },
      },
      concurrency: { verify: 16, handle: 8 },
      ...{ handlerTimeoutMs: 300_000, autostart: true, clock: systemClock, observe: {} },
    });
  });

  it("settingsOf() takes what is given, and leaves the caller's objects alone", () => {
    const inbox = memoryInbox();
    const given = Object.freeze({
      ...{ client, inbox, name: "a.b-c_9", verify: "before-ack", expired: "refuse" },
      ...{ unsigned: "refuse", unsignedTests: "refuse", reusedSignature: "hold" },
      ...{ signature: () => null, parse: () => null, autostart: false, handlerTimeoutMs: 5 },
      retry: Object.freeze({ attempts: 3 }),
      limits: Object.freeze({ ackMs: 1 }),
      concurrency: Object.freeze({ handle: 1 }),
      schemas: { unknown: { "~standard": { version: 1, vendor: "x", validate: () => ({}) } } },
    });
    const { retry, limits, concurrency, ...rest } = settings(given);
    const { retry: _retry, limits: _limits, concurrency: _concurrency, ...same } = given;
    expect(rest).toMatchObject(same);
    expect(retry).toEqual({ attempts: 3, minMs: 1_000, maxMs: 3_600_000 });
    expect(limits).toMatchObject({ ackMs: 1, bodyMs: 2_000 });
    expect(concurrency).toEqual({ verify: 16, handle: 1 });
  });

  it.each<[string, object]>([
    ["client", { client: undefined }],
    ["client", { client: {} }],
    ["inbox", { inbox: {} }],
    ["inbox", { inbox: null }],
    ["name", { name: "" }],
    ["name", { name: "a b" }],
    ["name", { name: 5 }],
    ["ack", { ack: "later" }],
    ["verify", { verify: true }],
    ["signature", { signature: "" }],
    ["signature", { signature: "a b" }],
    ["signature", { signature: {} }],
    ["unsignedTests", { unsignedTests: "hold" }],
    ["unsigned", { unsigned: "accept" }],
    ["expired", { expired: null }],
    ["reusedSignature", { reusedSignature: "refuse" }],
    ["reusedSignature", { reusedSignature: "hold", inbox: forgetful }],
    ["parse", { parse: {} }],
    ['schemas["unknown"]', { schemas: { unknown: {} } }],
    ["schemas", { schemas: 5 }],
    ["observe", { observe: 3 }],
    ["retry", { retry: null }],
    ["retry.minMs", { retry: { minMs: -1 } }],
    ["retry.maxMs", { retry: { minMs: 10, maxMs: 5 } }],
    ["retry.attempts", { retry: { attempts: 0 } }],
    ["limits.ackMs", { limits: { ackMs: 1.5 } }],
    ["limits.waiting", { limits: { waiting: "5" } }],
    ["concurrency.handle", { concurrency: { handle: Number.POSITIVE_INFINITY } }],
    ["handlerTimeoutMs", { handlerTimeoutMs: -1 }],
    ["autostart", { autostart: "yes" }],
    ["callback", { callback: "0123456789abcdef0123456789abcdef" }],
    ["callback", { callback: null }],
    ["callback.secrets", { callback: {} }],
    ["callback.secrets", { callback: { secrets: [] } }],
    ["callback.secrets", { callback: { secrets: "0123456789abcdef0123456789abcdef" } }],
    ["callback.secrets[0]", { callback: { secrets: [""] } }],
    ["callback.secrets[1]", { callback: { secrets: ["s".repeat(32), "s".repeat(31)] } }],
    ["callback.require", { callback: { secrets: ["s".repeat(32)], require: "yes" } }],
    ["callback.required", { callback: { secrets: ["s".repeat(32)], required: true } }],
    ["clock", { clock: { now: Date.now } }],
    ["clock", { clock: 5 }],
    ["logger", { logger: {} }],
    ["logger", { logger: true }],
    ["observe.parked", { observe: { parked: 1 } }],
    ["retries", { retries: 5 }],
  ])("settingsOf() throws a TypeError that names %s for %o", (option, given) => {
    expect(() => settings(given)).toThrow(TypeError);
    expect(() => settings(given)).toThrow(`createReceiver: ${option} must be `);
  });

  it("settingsOf() says how to make a callback secret, and quotes none", () => {
    const short = "too-short-and-secret";
    for (const callback of [{ secrets: [short] }, { secrets: short }, short]) {
      expect(() => settings({ callback })).toThrow(/^((?!too-short).)*$/);
    }
    expect(() => settings({ callback: { secrets: [short] } })).toThrow("openssl rand -base64 32");
  });

  it("settingsOf() takes a retry without a wait", () => {
    expect(settings({ retry: { minMs: 0 } }).retry.minMs).toBe(0);
  });

  it("settingsOf() throws a TypeError without options", () => {
    for (const none of [undefined, null, "x"]) {
      expect(() => settingsOf(none as never)).toThrow(TypeError);
    }
  });

  it("settingsOf() takes a logger without error, and one that throws", () => {
    const warn = vi.fn(() => {
      throw new Error("full disk");
    });
    const { logger } = settings({ logger: { warn } });
    logger.error({ id: 1 }, "broken");
    logger.warn({ id: 2 }, "careful");
    expect(warn.mock.calls).toEqual([
      [{ id: 1 }, "broken"],
      [{ id: 2 }, "careful"],
    ]);
    const error = vi.fn();
    settings({ logger: { warn, error } }).logger.error({}, "broken");
    expect(error).toHaveBeenCalledOnce();
  });

  it("settingsOf() logs to the console unless told", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    settings({ logger: undefined }).logger.warn({ id: 1 }, "careful");
    settings().logger.warn({ id: 2 }, "careful");
    expect(warn.mock.calls).toEqual([["reporthook: careful", { id: 1 }]]);
  });
});

describe("a memory inbox where an instance may end after the answer", () => {
  const places: [string, () => void][] = [
    ["AWS Lambda", () => vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "reports")],
    ["Cloudflare Workers", () => vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" })],
  ];

  it.each(places)("settingsOf() refuses it on %s, and names the ways out", (platform, arrive) => {
    arrive();
    for (const options of [{}, { inbox: memoryInbox() }, { verify: "before-ack" }]) {
      expect(() => settings(options)).toThrow(TypeError);
      expect(() => settings(options)).toThrow(platform);
      expect(() => settings(options)).toThrow('set ack: "handled"');
      expect(() => settings(options)).toThrow("memoryInbox({ acceptLoss: true })");
    }
  });

  it.each(places)("settingsOf() takes on %s what loses nothing, or is known to", (_, arrive) => {
    arrive();
    const guarantees = { ...memoryInbox().guarantees, durability: "fsync" as const };
    settings({ ack: "handled" });
    settings({ inbox: memoryInbox({ acceptLoss: true }) });
    settings({ inbox: Object.assign(memoryInbox(), { guarantees }) });
  });

  it("settingsOf() has no request wait for another on Cloudflare Workers", () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    const all = Number.POSITIVE_INFINITY;
    const { concurrency } = settings({ ack: "handled", concurrency: { handle: 1 } });
    expect(concurrency).toEqual({ verify: all, handle: all });
    expect(() => settings({ ack: "handled", concurrency: { handle: 0 } })).toThrow(TypeError);
  });

  it("settingsOf() does not look at the environment on Deno, which would ask its user", () => {
    vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "reports");
    vi.stubGlobal("Deno", {});
    settings();
  });
});
