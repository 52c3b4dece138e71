import { afterEach, describe, expect, it, vi } from "vitest";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import type { ReceiverOptions } from "./receiver-options.ts";
import { receiverSettingsOf } from "./receiver-settings.ts";

const client = { authorize: async () => "valid" as const };
const { guarantees } = memoryInbox();
const forgetful = Object.assign(memoryInbox(), {
  guarantees: { ...guarantees, noticesReuse: false },
});
const settings = (options: object = {}) =>
  receiverSettingsOf({ client, logger: false, ...options } as ReceiverOptions);

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

const settingNames = [
  "inbox",
  "name",
  "signature",
  "parse",
  "schemas",
  "retry",
  "limits",
  "concurrency",
  "handlerTimeoutMs",
  "callback",
  "clock",
  "logger",
  "observe",
  "ack",
  "verify",
  "unsignedTests",
  "unsigned",
  "expired",
  "reusedSignature",
  "autostart",
];

describe("options", () => {
  it("receiverSettingsOf() fills in the defaults of the contract", () => {
    const { inbox, ...rest } = settings();
    expect(inbox.guarantees.durability).toBe("process");
    expect(rest).toMatchObject({
      client,
      name: "reports",
      ack: "stored",
      verify: "after-ack",
      signature: "x-svc-authorization",
      unsignedTests: "accept",
      unsigned: "hold",
      expired: "hold",
      reusedSignature: "accept",
      parse: undefined,
      schemas: undefined,
      retry: { attempts: 10, minMs: 1_000, maxMs: 3_600_000 },
      limits: {
        bodyBytes: 262_144,
        bodyMs: 2_000,
        verifyMs: 2_500,
        ackMs: 4_000,
        waiting: 100_000,
        unverified: 20_000,
      },
      concurrency: { verify: 16, handle: 8 },
      handlerTimeoutMs: 300_000,
      autostart: true,
      observe: {},
    });
  });

  it("receiverSettingsOf() takes what is given, and leaves the caller's objects alone", () => {
    const inbox = memoryInbox();
    const given = Object.freeze({
      client,
      inbox,
      name: "a.b-c_9",
      verify: "before-ack",
      expired: "refuse",
      unsigned: "refuse",
      unsignedTests: "refuse",
      reusedSignature: "hold",
      signature: () => null,
      parse: () => null,
      autostart: false,
      handlerTimeoutMs: 5,
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

  it.each<[message: string, given: object]>([
    ["client must be a client with authorize, not undefined", { client: undefined }],
    ["client must be a client with authorize, not an object", { client: {} }],
    [
      'inbox must be an inbox, such as memoryInbox() or sqliteInbox("inbox.db"), not an object',
      { inbox: {} },
    ],
    [
      'inbox must be an inbox, such as memoryInbox() or sqliteInbox("inbox.db"), not null',
      { inbox: null },
    ],
    ['name must be 1 to 64 letters, digits, dots, hyphens or underscores, not ""', { name: "" }],
    [
      'name must be 1 to 64 letters, digits, dots, hyphens or underscores, not "a b"',
      { name: "a b" },
    ],
    ["name must be 1 to 64 letters, digits, dots, hyphens or underscores, not 5", { name: 5 }],
    ['ack must be "stored" or "handled", not "later"', { ack: "later" }],
    ['verify must be "after-ack" or "before-ack", not true', { verify: true }],
    ['signature must be a header\'s name or a function, not ""', { signature: "" }],
    ['signature must be a header\'s name or a function, not "a b"', { signature: "a b" }],
    ["signature must be a header's name or a function, not an object", { signature: {} }],
    [
      "signature must be a function that is not async, not an async one",
      { signature: async () => "s" },
    ],
    ["parse must be a function that is not async, not an async one", { parse: async () => null }],
    ['unsignedTests must be "accept" or "refuse", not "hold"', { unsignedTests: "hold" }],
    ['unsigned must be "hold" or "refuse", not "accept"', { unsigned: "accept" }],
    ['expired must be "hold" or "handle-after-outage" or "refuse", not null', { expired: null }],
    ['reusedSignature must be "accept" or "hold", not "refuse"', { reusedSignature: "refuse" }],
    [
      'reusedSignature must be "accept": this inbox notices no signature that comes again, not "hold"',
      { reusedSignature: "hold", inbox: forgetful },
    ],
    ["parse must be a function, not an object", { parse: {} }],
    ['schemas["unknown"] must be a Standard Schema, not an object', { schemas: { unknown: {} } }],
    ["schemas must be an object, not 5", { schemas: 5 }],
    ["observe must be an object, not 3", { observe: 3 }],
    ["retry must be an object, not null", { retry: null }],
    ["retry must be an object, not an array", { retry: [] }],
    ["observe must be an object, not an array", { observe: [] }],
    [
      "limits.acksMs is no option; these are: bodyBytes, bodyMs, verifyMs, ackMs, waiting, unverified",
      { limits: { acksMs: 1 } },
    ],
    [
      "observe.hanlded is no option; these are: acknowledged, verified, handled, failed, parked",
      { observe: { hanlded: () => {} } },
    ],
    ["retry.minMs must be an integer from 0, not -1", { retry: { minMs: -1 } }],
    ["retry.maxMs must be at least retry.minMs, not 5", { retry: { minMs: 10, maxMs: 5 } }],
    ["retry.attempts must be an integer from 1, not 0", { retry: { attempts: 0 } }],
    ["limits.ackMs must be an integer from 1, not 1.5", { limits: { ackMs: 1.5 } }],
    ['limits.waiting must be an integer from 1, not "5"', { limits: { waiting: "5" } }],
    [
      "concurrency.handle must be an integer from 1, not Infinity",
      { concurrency: { handle: Number.POSITIVE_INFINITY } },
    ],
    ["handlerTimeoutMs must be an integer from 1, not -1", { handlerTimeoutMs: -1 }],
    ['autostart must be true or false, not "yes"', { autostart: "yes" }],
    ["callback must be an object, not a string", { callback: "0123456789abcdef0123456789abcdef" }],
    ["callback must be an object, not null", { callback: null }],
    ["callback.secrets must be an array of at least one secret, not undefined", { callback: {} }],
    [
      "callback.secrets must be an array of at least one secret, not an empty one",
      { callback: { secrets: [] } },
    ],
    [
      "callback.secrets must be an array of at least one secret, not a string",
      { callback: { secrets: "0123456789abcdef0123456789abcdef" } },
    ],
    [
      "callback.secrets[0] must be at least 32 characters, such as `openssl rand -base64 32` prints, not 0",
      { callback: { secrets: [""] } },
    ],
    [
      "callback.secrets[1] must be at least 32 characters, such as `openssl rand -base64 32` prints, not 31",
      { callback: { secrets: ["s".repeat(32), "s".repeat(31)] } },
    ],
    [
      'callback.require must be true or false, not "yes"',
      { callback: { secrets: ["s".repeat(32)], require: "yes" } },
    ],
    [
      "callback.url is too long: 256 characters with its token, of 255",
      { callback: { secrets: ["s".repeat(32)], url: "https://app.example/".padEnd(159, "x") } },
    ],
    [
      "callback.overdueMs must be whole milliseconds from 1, not 9007199254740991",
      { callback: { secrets: ["s".repeat(32)], overdueMs: Number.MAX_SAFE_INTEGER } },
    ],
    [
      "callback.required is no option; these are: secrets, require, url, overdueMs",
      { callback: { secrets: ["s".repeat(32)], required: true } },
    ],
    [
      "clock must be an object with now, setTimeout and clearTimeout, not an object",
      { clock: { now: Date.now } },
    ],
    ["clock must be an object with now, setTimeout and clearTimeout, not 5", { clock: 5 }],
    [
      "clock.now must be a function that returns milliseconds, not an object",
      { clock: { now: () => new Date(), setTimeout, clearTimeout } },
    ],
    [
      'clock.now must be a function that returns milliseconds, not "1"',
      { clock: { now: () => "1", setTimeout, clearTimeout } },
    ],
    ["logger must be false or an object with warn and error, not an object", { logger: {} }],
    ["logger must be false or an object with warn and error, not true", { logger: true }],
    [
      "logger must be false or an object with warn and error, not an object",
      { logger: { warn() {}, error: "console" } },
    ],
    ["observe.parked must be a function, not 1", { observe: { parked: 1 } }],
  ])("receiverSettingsOf() throws a TypeError: %s", (message, given) => {
    const error = new TypeError(`createReceiver: ${message}`);
    expect(() => settings(given)).toThrow(error);
  });

  it("receiverSettingsOf() names all options there are when one is unknown", () => {
    const message = `createReceiver: retries is no option; these are: client, ${settingNames.join(", ")}`;
    expect(() => settings({ retries: 5 })).toThrow(new TypeError(message));
    const event = { schemas: { "*": {} } };
    expect(() => settings(event)).toThrow(
      /schemas\.\* is no option; these are: test_webhook_endpoint, /,
    );
    expect(() => settings({ schemas: { report: {} } })).toThrow(/schemas\.report is no option; /);
  });

  it("receiverSettingsOf() says how to make a callback secret, and quotes none", () => {
    const short = "too-short-and-secret";
    for (const callback of [{ secrets: [short] }, { secrets: short }, short]) {
      expect(() => settings({ callback })).toThrow(/^((?!too-short).)*$/);
    }
    expect(() => settings({ callback: { secrets: [short] } })).toThrow("openssl rand -base64 32");
  });

  it("receiverSettingsOf() takes a retry without a wait, and one that waits as long each time", () => {
    expect(settings({ retry: { minMs: 0 } }).retry.minMs).toBe(0);
    expect(settings({ retry: { minMs: 5, maxMs: 5 } }).retry.maxMs).toBe(5);
  });

  it("receiverSettingsOf() copies the callback secrets, and requires no token unless told to", async () => {
    const secrets = ["s".repeat(32)];
    const { callbacks } = settings({ callback: { secrets } });
    secrets[0] = "x".repeat(32);
    const { pathname, search } = new URL(`${await callbacks?.url("https://app.example/", 1)}`);
    const required = settings({ callback: { secrets: ["s".repeat(32)], require: true } }).callbacks;
    expect(await required?.verify(pathname + search)).toMatchObject({ token: "valid" });
    expect([callbacks?.require, required?.require]).toEqual([false, true]);
    expect(settings().callbacks).toBeUndefined();
  });

  it.each(settingNames)(
    "receiverSettingsOf() takes undefined for %s as left out, and never null",
    (name) => {
      expect(settings({ [name]: undefined })).toBeDefined();
      expect(() => settings({ [name]: null })).toThrow(
        new RegExp(`^createReceiver: ${name} must be .*, not null$`),
      );
    },
  );

  it("receiverSettingsOf() refuses null within an option, too", () => {
    expect(() => settings({ retry: { attempts: null } })).toThrow("retry.attempts must be");
    expect(() => settings({ limits: { ackMs: null } })).toThrow("limits.ackMs must be");
    expect(() => settings({ observe: { handled: null } })).toThrow("observe.handled must be");
    expect(() => settings({ schemas: { unknown: null } })).toThrow('schemas["unknown"] must be');
    expect(settings({ schemas: { unknown: undefined } })).toBeDefined();
  });

  it("receiverSettingsOf() throws a TypeError without options", () => {
    for (const [none, kind] of [
      [undefined, "undefined"],
      [null, "null"],
      ["the-api-key", "a string"],
    ]) {
      const message = `createReceiver: options must be an object, not ${kind}`;
      expect(() => receiverSettingsOf(none as never)).toThrow(new TypeError(message));
    }
  });

  it.each([
    ["shows nothing", () => undefined],
    ["shows NaN", () => Number.NaN],
    [
      "throws",
      () => {
        throw new Error("restored");
      },
    ],
  ])("the clock of a receiver keeps its time while the given one %s", (_, broken) => {
    const now = vi.fn<() => unknown>(() => 5_000);
    const { clock } = settings({ clock: { now, setTimeout, clearTimeout } });
    now.mockImplementation(broken);
    expect([clock.now(), clock.running(), clock.wallNow()]).toEqual([5_000, 5_000, 5_000]);
    now.mockReturnValue(6_000);
    expect(clock.now()).toBe(6_000);
  });

  it("receiverSettingsOf() logs to the console unless told otherwise", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    settings({ logger: undefined }).logger.warn({ id: 1 }, "careful");
    settings().logger.warn({ id: 2 }, "careful");
    expect(warn.mock.calls).toEqual([["reporthook: careful", { receiver: "reports", id: 1 }]]);
  });
});

describe("a memory inbox where an instance may end after the answer", () => {
  const places: [string, () => void][] = [
    ["AWS Lambda", () => vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "reports")],
    ["Cloudflare Workers", () => vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" })],
  ];

  it.each(places)(
    "receiverSettingsOf() refuses a memory inbox on %s, and names the ways out",
    (platform, arrive) => {
      arrive();
      for (const options of [{}, { inbox: memoryInbox() }, { verify: "before-ack" }]) {
        expect(() => settings(options)).toThrow(TypeError);
        expect(() => settings(options)).toThrow(platform);
        expect(() => settings(options)).toThrow('set ack: "handled"');
        expect(() => settings(options)).toThrow("memoryInbox({ acceptLoss: true })");
      }
    },
  );

  it.each(places)(
    "receiverSettingsOf() takes an inbox on %s that loses nothing, or accepts the loss",
    (_, arrive) => {
      arrive();
      const guarantees = { ...memoryInbox().guarantees, durability: "fsync" as const };
      settings({ ack: "handled" });
      settings({ inbox: memoryInbox({ acceptLoss: true }) });
      settings({ inbox: Object.assign(memoryInbox(), { guarantees }) });
    },
  );

  it("receiverSettingsOf() has no request wait for another on Cloudflare Workers", () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    const all = Number.POSITIVE_INFINITY;
    const { concurrency } = settings({ ack: "handled", concurrency: { handle: 1 } });
    expect(concurrency).toEqual({ verify: all, handle: all });
    expect(() => settings({ ack: "handled", concurrency: { handle: 0 } })).toThrow(TypeError);
  });
});
