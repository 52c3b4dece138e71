import type { Logger } from "@reporthook/core";
import {
  assertKnownKeys,
  loggerOf,
  type Retention,
  type RetentionOptions,
  retentionOf,
} from "@reporthook/core/store";
import { failOption, type Target, targetOf } from "./connection-options.ts";

/** Options of {@link bullmqInbox}. */
export interface BullmqInboxOptions {
  /** A URL (`redis://`, `rediss://`, `postgres://`, `postgresql://`), or the options of ioredis or of a pg pool; no client. */
  readonly connection:
    | string
    | Readonly<Record<string, unknown>>
    | (object & { readonly on?: never });
  /** The kind of server: by default that of the URL, or Redis for options. */
  readonly backend?: "redis" | "postgres" | undefined;
  /** The prefix of the queues' names, without hyphens: `"reporthook"`. */
  readonly prefix?: string | undefined;
  /** How long entries are kept, in milliseconds: handled 7 days, held and dead 30 days. */
  readonly retention?: RetentionOptions | undefined;
  /** Milliseconds without a heartbeat after which other processes take over the jobs of a process: 10,000. */
  readonly leaseMs?: number | undefined;
  /** Gets warnings about risky settings of the server and lost parked deliveries; the console. `false` silences. */
  readonly logger?: Pick<Logger, "warn"> | false | undefined;
}

/** The checked options of an inbox. */
export interface BullmqSettings extends Target {
  readonly prefix: string;
  readonly retention: Retention;
  readonly leaseMs: number;
  readonly logger: Pick<Logger, "warn">;
}

const names = ["connection", "backend", "prefix", "retention", "leaseMs", "logger"];

/** Checks the options and fills in the defaults; throws a TypeError that names the wrong one, and no password. */
export function bullmqSettingsOf(options: BullmqInboxOptions): BullmqSettings {
  assertKnownKeys("bullmqInbox", options, names);
  const { connection, backend, prefix = "reporthook", retention, leaseMs = 10_000 } = options;
  const { logger } = options;
  // With a hyphen, the queues of two inboxes might have one name.
  if (typeof prefix !== "string" || !/^[\w.]{1,64}$/.test(prefix)) {
    failOption("prefix", "must be 1 to 64 letters, digits, dots or underscores");
  }
  if (logger !== undefined && logger !== false && typeof logger?.warn !== "function") {
    failOption("logger", "must be false or an object with warn");
  }
  return {
    ...targetOf(connection, backend),
    prefix,
    logger: loggerOf(null, logger === false ? {} : logger),
    leaseMs: leaseOf(leaseMs),
    retention: retentionOf("bullmqInbox", retention),
  };
}

/** Milliseconds that a timer of Node can have: one for longer fires at once. */
const longestMs = 2_147_483_647;

function leaseOf(ms: number): number {
  if (Number.isFinite(ms) && ms > 0 && ms <= longestMs) return Math.ceil(ms);
  return failOption("leaseMs", `must be a positive number up to ${longestMs}, not ${String(ms)}`);
}
