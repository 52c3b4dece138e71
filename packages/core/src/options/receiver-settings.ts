import { Callbacks } from "../callback-urls/callback-url.ts";
import { overHttpOf } from "../client/client-options.ts";
import { eventNames, type Schemas } from "../events/events.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { Timekeeper } from "../inbox/timekeeper.ts";
import { consoleLogger, type Logger, loggerOf, oncePerMinute } from "../lib/log.ts";
import {
  bindingToContext,
  isTiedToRequests,
  mustHaveCrypto,
  serverlessPlatform,
} from "../lib/platform.ts";
import { tryGet } from "../lib/safe-get.ts";
import { redactorOf } from "../lib/text/redact.ts";
import { type Clock, systemClock } from "../lib/time/clock.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { assertKnownKeys, fail, typeName } from "../lib/validate.ts";
import { messages } from "../log-messages.ts";
import type { Observe } from "../observe/hooks.ts";
import { instrumentation, watch } from "../observe/instrumentation.ts";
import type { ReporterSettings } from "../observe/reporter.ts";
import { functionOr, must, numbers, syncOr, wholeNumber } from "./checks.ts";
import type { Limits, ReceiverOptions, RetryOptions, SignatureSource } from "./receiver-options.ts";

/** Options with every default filled in. */
export interface ReceiverSettings
  extends Choices,
    ReporterSettings,
    Pick<ReceiverOptions, "client" | "parse" | "schemas"> {
  readonly time: Timekeeper;
  /** A header's name in lower case, or a function. */
  readonly signature: SignatureSource;
  /** The option `callback`. */
  readonly callbacks: Callbacks | undefined;
  readonly retry: RetryOptions;
  readonly limits: Limits;
  readonly concurrency: { readonly verify: number; readonly handle: number };
  readonly handlerTimeoutMs: number;
}

/**
 * Checks the options of `createReceiver` and fills in the defaults.
 *
 * @throws TypeError that names the option
 */
export function receiverSettingsOf(options: ReceiverOptions): ReceiverSettings {
  assertKnownKeys("createReceiver", options, [...known, ...Object.keys(choices)]);
  if (watch in options) throw new TypeError("createReceiver: alerts(…) belongs into observe");
  mustHaveCrypto();
  // Not quoted: it may be the API key.
  if (typeof options.client?.authorize !== "function") {
    fail("createReceiver: client", "a client with authorize", typeName(options.client));
  }
  const {
    callback,
    name = "reports",
    signature = "X-svc-authorization",
    clock = systemClock,
  } = options;
  const { retry = {}, limits = {}, concurrency = {}, handlerTimeoutMs = 300_000 } = options;
  const chosen = choicesOf(options);
  const bind = bindingToContext();
  const inbox = inboxOf(options, chosen);
  const lived = new LivedClock(clockOf(clock));
  const logger = loggerOf(name, givenLogger(options.logger), bind);
  const throttled = oncePerMinute(lived, logger);
  return {
    ...chosen,
    client: options.client,
    inbox,
    name: must("name", expectedName, name, typeof name === "string" && /^[\w.-]{1,64}$/.test(name)),
    signature: signatureOf(signature),
    parse: syncOr("parse", options.parse),
    schemas: schemasOf(options.schemas),
    retry: retryOf(retry),
    limits: numbers("limits", defaultLimits, limits),
    concurrency: concurrencyOf(concurrency),
    handlerTimeoutMs: wholeNumber("handlerTimeoutMs", handlerTimeoutMs),
    callbacks: callback === undefined ? callback : new Callbacks(callback, name, throttled),
    clock: lived,
    time: new Timekeeper(inbox, lived),
    logger,
    oncePerMinute: throttled,
    observe: observeOf(options.observe),
    instrument: options[instrumentation],
    bind,
    redact: redactorOf(options.client),
  };
}

/** Warns of what works, but not as it should in production. */
export function warnOfSettings(settings: ReceiverSettings, isInboxGiven: boolean): void {
  const { ack, client, logger } = settings;
  if (ack === "stored" && !isInboxGiven) logger.warn({}, messages.noInbox);
  const baseUrl = overHttpOf(client);
  if (baseUrl !== undefined) logger.warn({ baseUrl }, messages.insecure);
}

/** The options with a list of values, whose first is the default. */
const choices = {
  ack: ["stored", "handled"],
  verify: ["after-ack", "before-ack"],
  unsignedTests: ["accept", "refuse"],
  unsigned: ["hold", "refuse"],
  expired: ["hold", "handle-after-outage", "refuse"],
  reusedSignature: ["accept", "hold"],
  autostart: [true, false],
} as const;

type Choices = { readonly [Name in keyof typeof choices]: (typeof choices)[Name][number] };

const known = [
  "client",
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
];

const expectedName = "1 to 64 letters, digits, dots, hyphens or underscores";

const hooks = ["acknowledged", "verified", "handled", "failed", "parked"];

const defaultLimits: Limits = {
  bodyBytes: 262_144,
  bodyMs: 2_000,
  verifyMs: 2_500,
  ackMs: 4_000,
  waiting: 100_000,
  unverified: 20_000,
};

function choicesOf(options: ReceiverOptions): Choices {
  const chosen = Object.entries(choices).map(([name, allowed]: [string, readonly unknown[]]) => {
    const { [name as keyof Choices]: given = allowed[0] } = options;
    const list = allowed.map((value) => JSON.stringify(value)).join(" or ");
    return [name, must(name, list, given, allowed.includes(given))];
  });
  return Object.fromEntries(chosen) as Choices;
}

function inboxOf(options: ReceiverOptions, { ack, reusedSignature }: Choices): Inbox {
  const { inbox = memoryInbox() } = options;
  const fits = typeof inbox?.add === "function" && typeof inbox.consume === "function";
  must("inbox", 'an inbox, such as memoryInbox() or sqliteInbox("inbox.db")', inbox, fits);
  const expected = '"accept": this inbox notices no signature that comes again';
  const isNoticed = reusedSignature === "accept" || inbox.guarantees.noticesReuse;
  must("reusedSignature", expected, reusedSignature, isNoticed);
  const platform = serverlessPlatform();
  if (platform === null || ack === "handled") return inbox;
  const { durability, lossAccepted } = inbox.guarantees;
  if (durability === "process" && !lossAccepted) {
    throw new TypeError(
      `createReceiver: inbox must outlast an instance on ${platform}, which may end right after the answer: set ack: "handled", or give memoryInbox({ acceptLoss: true }) if what was acknowledged may be lost`,
    );
  }
  return inbox;
}

function signatureOf(source: SignatureSource): SignatureSource {
  const isName = typeof source === "string" && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(source);
  const fits = isName || typeof source === "function";
  must("signature", "a header's name or a function", source, fits);
  return isName ? source.toLowerCase() : (syncOr("signature", source) as SignatureSource);
}

function schemasOf(schemas: Schemas | undefined): Schemas | undefined {
  if (schemas === undefined) return undefined;
  const types = eventNames.filter((name) => !["report", "report.overdue", "*"].includes(name));
  assertKnownKeys("createReceiver", schemas, types, "schemas.");
  for (const [type, schema] of Object.entries(schemas)) {
    const fits = schema === undefined || typeof schema?.["~standard"]?.validate === "function";
    must(`schemas["${type}"]`, "a Standard Schema", schema, fits);
  }
  return schemas;
}

function retryOf(given: object): RetryOptions {
  const defaults = { attempts: 10, minMs: 1_000, maxMs: 3_600_000 };
  const retry = numbers("retry", defaults, given, { minMs: 0, maxMs: 0 });
  must("retry.maxMs", "at least retry.minMs", retry.maxMs, retry.maxMs >= retry.minMs);
  return retry;
}

function concurrencyOf(given: object): ReceiverSettings["concurrency"] {
  const most = numbers("concurrency", { verify: 16, handle: 8 }, given);
  const all = Number.POSITIVE_INFINITY;
  return isTiedToRequests() ? { verify: all, handle: all } : most;
}

function clockOf(clock: Clock): Clock {
  const { now, setTimeout, clearTimeout } = clock ?? {};
  const fits = [now, setTimeout, clearTimeout].every((member) => typeof member === "function");
  must("clock", "an object with now, setTimeout and clearTimeout", clock, fits);
  const time: unknown = clock.now();
  // A date or a text would be added to milliseconds, and nothing would ever be due.
  must("clock.now", "a function that returns milliseconds", time, Number.isFinite(time));
  return clock === systemClock ? clock : readable(clock, Number(time));
}

/** The clock with its last reading where it gives none, such as a mock that a test has restored: no time has passed. */
function readable(clock: Clock, first: number): Clock {
  let last = first;
  const now = (): number => {
    const time = tryGet(() => clock.now()) ?? Number.NaN;
    if (Number.isFinite(time)) last = time;
    return last;
  };
  return {
    now,
    setTimeout: (callback, ms) => clock.setTimeout(callback, ms),
    clearTimeout: (timer) => clock.clearTimeout(timer),
  };
}

function givenLogger(logger: Partial<Logger> | false = consoleLogger): Partial<Logger> {
  const { warn, error = warn } = logger || {};
  const fits = [warn, error].every((method) => typeof method === "function");
  must("logger", "false or an object with warn and error", logger, logger === false || fits);
  return logger || {};
}

function observeOf(observe: Observe = {}): Observe {
  assertKnownKeys("createReceiver", observe, hooks, "observe.");
  for (const [name, hook] of Object.entries(observe)) functionOr(`observe.${name}`, hook);
  const platform = observe[watch] === undefined ? null : serverlessPlatform();
  if (platform === null) return observe;
  throw new TypeError(
    `createReceiver: observe: alerts(…) needs a process that lives on, and ${platform} may end or freeze an instance right after the answer: watch the log instead`,
  );
}
