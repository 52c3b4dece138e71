/** The server of an inbox, and how to connect. */
export interface Target {
  readonly backend: Backend;
  readonly connection: Options;
  /** Without a password. */
  readonly address: string;
}

type Backend = "redis" | "postgres";
type Options = Readonly<Record<string, unknown>>;

const protocols: Readonly<Record<string, Backend>> = {
  "redis:": "redis",
  "rediss:": "redis",
  "postgres:": "postgres",
  "postgresql:": "postgres",
};
const ways =
  "must be a URL that begins with redis://, rediss:// or postgres://, or options: { path } for a socket of Redis, { host } for one of PostgreSQL";
const unknown = "is no option of ioredis, which would ignore it: give host and port, or url";
const cluster =
  "is for a Redis Cluster, over which BullMQ's queues can't be spread: give a Redis, or Sentinels, that is none";
// Options that would be ignored, or would break stored data.
const refusedOfRedis: Options = {
  keyPrefix: "can't work, for BullMQ's scripts name keys without it: use the option prefix instead",
  stringNumbers: "can't work, for BullMQ's scripts answer numbers: omit it",
  socket: "is an option of node-redis: give host and port, or path",
  redisOptions: cluster,
  rootNodes: cluster,
  clusterNodes: cluster,
  client: unknown,
  redis: unknown,
  connection: unknown,
  options: unknown,
  uri: unknown,
  hostname: unknown,
  database: 'is for PostgreSQL: add backend: "postgres", or give db',
  user: 'is for PostgreSQL: add backend: "postgres", or give username',
};

/** Checks the option `connection`; throws a TypeError that says what to give instead, and no password. */
export function targetOf(connection: unknown, asked: Backend | undefined): Target {
  if (asked !== undefined && asked !== "redis" && asked !== "postgres") {
    failOption("backend", 'must be "redis" or "postgres"');
  }
  if (typeof connection === "string") {
    const { backend, options } = readUrl("connection", connection, asked);
    return {
      backend,
      connection: named(backend, connection),
      address: addressOf(backend, options),
    };
  }
  if (typeof connection !== "object" || connection === null || Array.isArray(connection)) {
    failOption("connection", "must be a URL like redis://127.0.0.1:6379, or an object of options");
  }
  const given = connection as Options;
  const isClient = ["on", "connect", "duplicate", "query"].some(
    (name) => typeof given[name] === "function",
  );
  if (isClient) {
    failOption(
      "connection",
      "is a client, and an inbox opens its own: give what the client was made with, its URL or its options",
    );
  }
  if ("href" in given) failOption("connection", "is a URL object: give its href");
  const name = given["connectionString"] === undefined ? "url" : "connectionString";
  const text = given[name];
  if (text !== undefined && typeof text !== "string") {
    failOption(`connection.${name}`, "must be a URL as text");
  }
  const read = text === undefined ? null : readUrl(`connection.${name}`, text, asked);
  const backend = read?.backend ?? asked ?? "redis";
  // The URL takes precedence, in ioredis as in pg.
  const options = { ...given, ...read?.options };
  const under = text === undefined ? {} : named(backend, text);
  return { backend, connection: { ...given, ...under }, address: addressOf(backend, options) };
}

/** A URL under the name by which ioredis or pg looks for it. */
function named(backend: Backend, url: string): Options {
  return backend === "redis" ? { url } : { connectionString: url };
}

function readUrl(
  option: string,
  text: string,
  asked: Backend | undefined,
): { readonly backend: Backend; readonly options: Options } {
  // As pg reads it: a host may be missing after the password.
  const url = [text, text.replace("@/", "@localhost/")].find((one) => URL.canParse(one));
  const { protocol, hostname, port, pathname, username, password, searchParams } = new URL(
    url ?? "none:",
  );
  const backend = protocols[protocol];
  if (backend === undefined) return failOption(option, ways);
  if (asked !== undefined && asked !== backend) {
    failOption("backend", `is "${asked}", but the URL of the connection is for ${backend}`);
  }
  // ioredis and pg decode them when they connect, and throw there.
  for (const part of [username, password]) decoded(option, part);
  const isLeftOut = url !== text;
  // ioredis takes the number of its database as it is written.
  const path = pathname.slice(1);
  const database = decoded(option, path);
  const ofUrl = {
    ...(protocol === "rediss:" && { tls: true }),
    host: isLeftOut ? "" : decoded(option, hostname).replace(/^\[|\]$/g, ""),
    port,
    ...(backend === "redis" ? { db: path } : { user: decoded(option, username), database }),
  };
  const said = Object.entries(ofUrl).filter(([, value]) => value !== "");
  const asides = Object.fromEntries(searchParams);
  // In pg the query of the URL takes precedence, except for the database.
  const options =
    backend === "redis"
      ? { ...asides, ...Object.fromEntries(said) }
      : { ...Object.fromEntries(said), ...asides, database };
  return { backend, options };
}

function decoded(option: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return failOption(option, "has a percent sign that encodes nothing: write it as %25");
  }
}

/** The server and the database that the options lead to, as ioredis and pg understand them. */
function addressOf(backend: Backend, options: Options): string {
  return backend === "redis" ? addressOfRedis(options) : addressOfPostgres(options);
}

function addressOfRedis(options: Options): string {
  for (const [name, why] of Object.entries(refusedOfRedis)) {
    if (options[name]) failOption(`connection.${name}`, String(why));
  }
  const { sentinels, name, path, host = "127.0.0.1", port = 6379, db = 0, tls } = options;
  // ioredis would go on in database 0 or 1.
  if (!/^\d+$/.test(String(db))) {
    failOption("connection", "must name a database of Redis by a whole number from 0: see db");
  }
  const database = Number(db) === 0 ? "" : `/${Number(db)}`;
  if (Array.isArray(sentinels)) {
    if (typeof name !== "string") failOption("connection.name", "must name the Sentinels' primary");
    const all = sentinels.map((one: Options) => `${one["host"]}:${one["port"] ?? 26_379}`);
    return `redis+sentinel://${all.sort().join(",")}/${name}${database}`;
  }
  if (path) return `redis:${path}${database === "" ? "" : `?db=${Number(db)}`}`;
  return `redis${tls ? "s" : ""}://${hostOf(host)}:${port}${database}`;
}

function addressOfPostgres(options: Options): string {
  const { env } = process;
  const host = options["host"] || env["PGHOST"] || "localhost";
  const port = options["port"] || env["PGPORT"] || 5432;
  const user = options["user"] || env["PGUSER"] || env["USER"];
  const database = options["database"] || env["PGDATABASE"] || user;
  // The host is the folder of its socket.
  if (String(host).startsWith("/")) return `postgres:${host}/.s.PGSQL.${port}/${database}`;
  return `postgres://${hostOf(host)}:${port}/${database}`;
}

function hostOf(host: unknown): string {
  return String(host).includes(":") ? `[${host}]` : String(host);
}

/** Throws the TypeError of a wrong option. */
export function failOption(option: string, what: string): never {
  throw new TypeError(`bullmqInbox: ${option} ${what}`);
}
