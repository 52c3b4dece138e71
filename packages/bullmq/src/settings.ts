import type { Logger } from "@reporthook/core";
import {
  onlyKnown,
  type Retention,
  type RetentionOptions,
  retentionOf,
} from "@reporthook/core/store";

/** Options of {@link bullmqInbox}. */
export interface BullmqInboxOptions {
  /** A URL (`redis://`, `rediss://`, `postgres://`, `postgresql://`), or the options of ioredis or of a pg pool. */
  readonly connection:
    | string
    | Readonly<Record<string, unknown>>
    | (object & { readonly on?: never });
  /** Which engine: the URL tells, and options are taken for ioredis' when left out. */
  readonly backend?: "redis" | "postgres" | undefined;
  /** What the names of the queues begin with, without hyphens: `"reporthook"`. */
  readonly prefix?: string | undefined;
  /** How long entries are kept, in milliseconds: handled 7 days, held and dead 30 days. */
  readonly retention?: RetentionOptions | undefined;
  /** Milliseconds after which the work of a process that shows no sign of life is taken back: 15,000. */
  readonly leaseMs?: number | undefined;
  /** Told at the start what the server's settings may lose; the console. `false` silences. */
  readonly logger?: Pick<Logger, "warn"> | false | undefined;
}

/** What an inbox was made with, checked. */
export interface Settings {
  readonly backend: "redis" | "postgres";
  readonly connection: Readonly<Record<string, unknown>>;
  /** Where that is, without a password. */
  readonly place: string;
  readonly prefix: string;
  readonly retention: Retention;
  readonly leaseMs: number;
  readonly logger: Pick<Logger, "warn">;
}

const names = ["connection", "backend", "prefix", "retention", "leaseMs", "logger"];
const protocols: Readonly<Record<string, Settings["backend"]>> = {
  "redis:": "redis",
  "rediss:": "redis",
  "postgres:": "postgres",
  "postgresql:": "postgres",
};
const ports = { redis: 6379, postgres: 5432 };

/** Checks the options and fills in what was left out; throws a TypeError that names the wrong one, and no password. */
export function settingsOf(options: BullmqInboxOptions): Settings {
  onlyKnown("bullmqInbox", options, names);
  const { connection, backend, prefix = "reporthook", retention, leaseMs = 15_000 } = options;
  // With a hyphen, the queues of two inboxes might have one name.
  if (!/^[\w.]{1,64}$/.test(prefix)) {
    wrong("prefix", "must be 1 to 64 letters, digits, dots or underscores");
  }
  return {
    ...target(connection as Given, backend),
    ...{
      prefix,
      logger: loggerOf(options.logger),
      leaseMs: Math.ceil(positive(leaseMs, "leaseMs")),
    },
    retention: retentionOf("bullmqInbox", retention),
  };
}

type Given = string | Readonly<Record<string, unknown>>;

type Target = Pick<Settings, "backend" | "connection" | "place">;

function target(connection: Given, backend: BullmqInboxOptions["backend"]): Target {
  if (backend !== undefined && backend !== "redis" && backend !== "postgres") {
    wrong("backend", 'must be "redis" or "postgres"');
  }
  if (typeof connection === "string") return targetOfUrl(connection, backend);
  if (typeof connection !== "object" || connection === null) {
    wrong("connection", "must be a URL like redis://127.0.0.1:6379, or an object of options");
  }
  const url = connection["connectionString"] ?? connection["url"];
  if (typeof url === "string") return { ...targetOfUrl(url, backend), connection };
  const kind = backend ?? "redis";
  const { host = "127.0.0.1", port = ports[kind] } = connection;
  const database = connection["db"] ?? connection["database"] ?? "";
  return { backend: kind, connection, place: `${kind}://${host}:${port}/${database}` };
}

function targetOfUrl(text: string, asked: BullmqInboxOptions["backend"]): Target {
  const url = URL.canParse(text) ? new URL(text) : null;
  const backend = protocols[url?.protocol ?? ""];
  if (url === null || backend === undefined) {
    wrong("connection", "must be a URL that begins with redis://, rediss:// or postgres://");
  }
  if (asked !== undefined && asked !== backend) {
    wrong("backend", `is "${asked}", but the URL of the connection is for ${backend}`);
  }
  const place = `${backend}://${url.hostname}:${url.port || ports[backend]}${url.pathname}`;
  const connection = backend === "redis" ? { url: text } : { connectionString: text };
  return { backend, connection, place };
}

function loggerOf(logger: BullmqInboxOptions["logger"]): Settings["logger"] {
  if (logger === false) return { warn() {} };
  return logger ?? { warn: (fields, message) => console.warn(`reporthook: ${message}`, fields) };
}

function positive(value: number, option: string): number {
  if (typeof value === "number" && value > 0) return value;
  return wrong(option, `must be a positive number, not ${String(value)}`);
}

function wrong(option: string, what: string): never {
  throw new TypeError(`bullmqInbox: ${option} ${what}`);
}
