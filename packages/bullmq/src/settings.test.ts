import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { type BullmqInboxOptions, bullmqInbox } from "./index.ts";
import { settingsOf } from "./settings.ts";

describe("settingsOf", () => {
  it.each([
    [{}, /connection must be a URL/],
    [{ connection: "" }, /connection must be a URL that begins with redis:/],
    [{ connection: "mysql://u:hidden@h/d" }, /connection must be a URL that begins/],
    [{ connection: "redis://h", backend: "postgres" }, /backend is "postgres", but the URL/],
    [{ connection: "redis://h", backend: "mysql" }, /backend must be "redis" or "postgres"/],
    [{ connection: "redis://h", prefix: "a:b" }, /prefix must be 1 to 64 letters/],
    [{ connection: "redis://h", prefix: "app-reports" }, /prefix must be .* dots or underscores/],
    [{ connection: "redis://h", leaseMs: 0 }, /leaseMs must be a positive number/],
    [{ connection: "redis://h", retention: { parkedMs: -1 } }, /retention.parkedMs must be/],
    [{ connection: "redis://h", queue: "x" }, /queue is no option; these are: connection/],
  ])("settingsOf() refuses %o", (options, message) => {
    const make = () => bullmqInbox(options as BullmqInboxOptions);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
    expect(make).toThrow(/^((?!hidden).)*$/);
  });

  it("settingsOf() tells the engine by the URL, and the place without a password", () => {
    const of = (connection: BullmqInboxOptions["connection"], rest = {}) => {
      const { backend, place } = settingsOf({ connection, ...rest });
      return [backend, place];
    };
    expect(of("redis://u:hidden@h/3")).toEqual(["redis", "redis://h:6379/3"]);
    expect(of("rediss://h:7000")).toEqual(["redis", "redis://h:7000"]);
    expect(of("postgresql://u:hidden@h/d")).toEqual(["postgres", "postgres://h:5432/d"]);
    expect(of({ host: "h", db: 2 })).toEqual(["redis", "redis://h:6379/2"]);
    const pool = { connectionString: "postgres://u:hidden@h:1/d" };
    expect(of(pool)).toEqual(["postgres", "postgres://h:1/d"]);
    const postgres = { backend: "postgres" };
    expect(of({ host: "h", database: "d" }, postgres)).toEqual(["postgres", "postgres://h:5432/d"]);
  });

  it("an inbox that is inspected shows no password", () => {
    const inbox = bullmqInbox({ connection: "postgres://u:hidden@h/d" });
    const shown = inspect(inbox, { depth: 10, showHidden: true }) + JSON.stringify(inbox);
    expect(shown).not.toContain("hidden");
    expect(inbox.identity).toBe("bullmq:postgres://h:5432/d:reporthook");
  });
});
