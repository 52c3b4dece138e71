import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { type BullmqInboxOptions, bullmqInbox } from "../index.ts";
import { bullmqSettingsOf } from "./settings.ts";

describe("settings", () => {
  it.each([
    [{}, /connection must be a URL/],
    [{ connection: "" }, /connection must be a URL that begins with redis:/],
    [{ connection: "mysql://u:hidden@h/d" }, /connection must be a URL that begins/],
    [{ connection: "redis://h", backend: "postgres" }, /backend is "postgres", but the URL/],
    [{ connection: "redis://h", backend: "mysql" }, /backend must be "redis" or "postgres"/],
    [{ connection: new URL("redis://u:hidden@h") }, /connection is a URL object: give its href/],
    [{ connection: [{ host: "h", password: "hidden" }] }, /connection must be a URL like/],
    [{ connection: { on() {}, options: { password: "hidden" } } }, /is a client, and an inbox/],
    [{ connection: { query() {} }, backend: "postgres" }, /give what the client was made with/],
    [{ connection: { host: "h", keyPrefix: "hidden:" } }, /keyPrefix can't work.* option prefix/],
    [{ connection: "redis://h?keyPrefix=hidden" }, /keyPrefix can't work/],
    [{ connection: { url: "redis://h", keyPrefix: "hidden:" } }, /keyPrefix can't work/],
    [{ connection: { host: "h", stringNumbers: true } }, /stringNumbers can't work/],
    [{ connection: { socket: { host: "h" } } }, /socket is an option of node-redis/],
    [{ connection: { redis: { host: "h" } } }, /redis is no option of ioredis.*give host/],
    [{ connection: { hostname: "h" } }, /hostname is no option of ioredis/],
    [{ connection: { rootNodes: [] } }, /rootNodes is for a Redis Cluster/],
    [{ connection: { host: "h", user: "hidden" } }, /user is for PostgreSQL: add backend/],
    [{ connection: { host: "h", database: "d" } }, /database is for PostgreSQL: add backend/],
    [{ connection: { sentinels: [{ host: "h" }] } }, /connection.name must name the Sentinels'/],
    [{ connection: { url: new URL("redis://hidden") } }, /connection.url must be a URL as text/],
    [{ connection: { url: "mysql://u:hidden@h" } }, /connection.url must be a URL that begins/],
    [{ connection: "/run/hidden.sock" }, /\{ path \} for a socket of Redis/],
    [{ connection: "postgres://u:hidden@%/d" }, /has a percent sign|must be a URL/],
    [{ connection: "redis://u:hid%den@h" }, /percent sign that encodes nothing: write it as %25/],
    [{ connection: "redis://hid%zzden@h" }, /has a percent sign that encodes nothing/],
    [{ connection: { url: "rediss://:hid%@h" } }, /connection.url has a percent sign/],
    [{ connection: "postgres://u:hid%den@h/d" }, /has a percent sign that encodes nothing/],
    [{ connection: "redis://h/-1" }, /must name a database of Redis by a whole number from 0/],
    [{ connection: "redis://h/abc" }, /by a whole number from 0: see db/],
    [{ connection: "redis://h/%31" }, /by a whole number from 0: see db/],
    [{ connection: "redis://h/1x" }, /by a whole number from 0/],
    [{ connection: "redis://h/1/2" }, /by a whole number from 0/],
    [{ connection: "redis://h?db=x" }, /by a whole number from 0/],
    [{ connection: { db: "abc" } }, /by a whole number from 0/],
    [{ connection: { db: "" } }, /by a whole number from 0/],
    [{ connection: { db: 1.5 } }, /by a whole number from 0/],
    [{ connection: { db: Number.NaN, path: "/run/x" } }, /by a whole number from 0/],
    [{ connection: { db: -1 } }, /by a whole number from 0/],
    [{ connection: "redis://h", prefix: "a:b" }, /prefix must be 1 to 64 letters/],
    [{ connection: "redis://h", prefix: "app-reports" }, /prefix must be .* dots or underscores/],
    [{ connection: "redis://h", prefix: null }, /prefix must be 1 to 64 letters/],
    [{ connection: "redis://h", logger: null }, /logger must be false or an object with warn/],
    [{ connection: "redis://h", logger: console.warn }, /logger must be false or an object/],
    [{ connection: "redis://h", leaseMs: 0 }, /leaseMs must be a positive number/],
    [{ connection: "redis://h", leaseMs: 2 ** 31 }, /leaseMs must be a positive number up to/],
    [{ connection: "redis://h", retention: { parkedMs: -1 } }, /retention.parkedMs must be/],
    [{ connection: "redis://h", queue: "x" }, /queue is no option; these are: connection/],
  ])("bullmqSettingsOf() refuses %o", (options, message) => {
    const make = () => bullmqInbox(options as BullmqInboxOptions);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
    expect(make).toThrow(/^((?!hidden).)*$/);
  });

  it("bullmqSettingsOf() tells the engine by the URL, and the address without a password", () => {
    const of = (connection: BullmqInboxOptions["connection"], rest = {}) => {
      const { backend, address } = bullmqSettingsOf({ connection, ...rest });
      return [backend, address];
    };
    expect(of("redis://u:hidden@h/3")).toEqual(["redis", "redis://h:6379/3"]);
    expect(of("rediss://h:7000")).toEqual(["redis", "rediss://h:7000"]);
    expect(of("postgresql://u:hidden@h/d")).toEqual(["postgres", "postgres://h:5432/d"]);
    expect(of({ host: "h", db: 2 })).toEqual(["redis", "redis://h:6379/2"]);
    const pool = { connectionString: "postgres://u:hidden@h:1/d" };
    expect(of(pool)).toEqual(["postgres", "postgres://h:1/d"]);
    const postgres = { backend: "postgres" };
    expect(of({ host: "h", database: "d" }, postgres)).toEqual(["postgres", "postgres://h:5432/d"]);
  });

  it("bullmqSettingsOf() tells where the server really is", () => {
    const of = (connection: unknown, backend?: "postgres") =>
      bullmqSettingsOf({ connection, backend } as BullmqInboxOptions).address;
    const same = ["redis://h", "redis://h/", "redis://h/0", "redis://h/00", { host: "h" }];
    for (const one of [
      ...same,
      { host: "h", port: "6379", db: 0 },
      { url: "redis://h", host: "x" },
    ])
      expect(of(one)).toBe("redis://h:6379");
    expect(of({})).toBe("redis://127.0.0.1:6379");
    expect(of("rediss://u:hidden@h/2")).toBe("rediss://h:6379/2");
    expect(of({ host: "h", tls: {} })).toBe("rediss://h:6379");
    const { connection } = bullmqSettingsOf({ connection: { url: "postgres://h/d", max: 2 } });
    expect(connection).toMatchObject({ connectionString: "postgres://h/d", max: 2 });
    expect(of({ connectionString: undefined, url: "redis://h" })).toBe("redis://h:6379");
    expect(
      bullmqSettingsOf({ connection: { connectionString: "redis://h" } }).connection,
    ).toMatchObject({
      url: "redis://h",
    });
    expect(of({ url: "redis://:hidden@/2", host: "h" })).toBe("redis://h:6379/2");
    expect(of("redis://?host=h&port=7000&db=3")).toBe("redis://h:7000/3");
    expect(of({ host: "::1" })).toBe(of("redis://[::1]"));
    expect(of({ path: "/run/redis.sock", db: 2 })).toBe("redis:/run/redis.sock?db=2");
    const sentinels = [{ host: "b", port: 1 }, { host: "a" }];
    const password = "hidden";
    expect(of({ sentinels, name: "main", db: 1, password })).toBe(
      "redis+sentinel://a:26379,b:1/main/1",
    );
    const socket = "postgres:/run/pg/.s.PGSQL.5432/d";
    expect(of("postgres:///d?host=/run/pg")).toBe(socket);
    expect(of("postgres://u:hidden@/d?host=/run/pg")).toBe(socket);
    expect(of("postgres://u:hidden@%2Frun%2Fpg/d")).toBe(socket);
    expect(of({ host: "/run/pg", database: "d" }, "postgres")).toBe(socket);
    expect(of("postgres://u:hidden@h/d?port=1")).toBe("postgres://h:1/d");
    expect(of("postgres://u:hidden@h")).toBe("postgres://h:5432/u");
    const { PGHOST } = process.env;
    process.env["PGHOST"] = "elsewhere";
    expect(of("postgres:///d")).toBe("postgres://elsewhere:5432/d");
    if (PGHOST === undefined) delete process.env["PGHOST"];
    else process.env["PGHOST"] = PGHOST;
  });

  it("an inbox that is inspected shows no password", () => {
    const inbox = bullmqInbox({ connection: "postgres://u:hidden@h/d" });
    const shown = inspect(inbox, { depth: 10, showHidden: true }) + JSON.stringify(inbox);
    expect(shown).not.toContain("hidden");
    expect(inbox.identity).toBe("bullmq:postgres://h:5432/d:reporthook");
  });
});
