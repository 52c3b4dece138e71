import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { serverErrorOf } from "./errors.ts";

describe("errors", () => {
  it.each([
    ["NOAUTH Authentication required.", "another password"],
    ["WRONGPASS invalid username-password pair", "another password"],
    ['password authentication failed for user "app"', "another password"],
    ["self-signed certificate", "ca in tls of connection"],
    ["Hostname/IP does not match certificate's altnames: IP: 10.0.0.1", "not trusted"],
    ["write EPROTO 40:error:0A00010B:SSL routines::wrong version number", "with redis://"],
    ["The server does not support SSL connections", "omit tls, ssl and sslmode"],
    ['no pg_hba.conf entry for host "10.0.0.1", user "app", no encryption', "it wants TLS"],
    ['database "app" does not exist', "make it"],
    ["NOREPLICAS Not enough good replicas to write.", "start them"],
    ["MISCONF Redis is configured to save RDB snapshots", "the room on its disk"],
    ["CROSSSLOT Keys in request don't hash to the same slot", "give a Redis, or Sentinels"],
    ["MOVED 3999 127.0.0.1:6381", "give a Redis, or Sentinels"],
    ["ERR Script attempted to access a non local key in a cluster node", "give a Redis"],
    [
      "NOPERM this user has no permissions to access one of the keys used as arguments",
      "~bull:reporthook-*",
    ],
    ["NOPERM this user has no permissions to run the 'eval' command", "add +@all"],
    ["ERR DB index is out of range", "no database of that number"],
    ["ERR value is out of range, value must between -2147483648 and 2147483647", "of that number"],
    ['too many connections for role "app"', "up to 22 with one receiver"],
    ["sorry, too many clients already", "Permit more"],
    ["permission denied for database app", "migrate: false"],
    ["permission denied for schema bullmq", "migrate: false"],
    ["OOM command not allowed when used memory > 'maxmemory'.", "raise maxmemory"],
    ["READONLY You can't write against a read only replica.", "connect to the primary"],
    ["cannot execute INSERT in a read-only transaction", "connect to the primary"],
    ["SchemaMigrationRequiredError: not initialized", "the app makes them"],
    ["SchemaVersionMismatchError: requires 7", "update bullmq"],
    ["Stream isn't writeable and enableOfflineQueue options is false", "start it, or wait"],
    ["connect ECONNREFUSED 127.0.0.1:6379", "start it, or wait"],
  ])("serverErrorOf() says what to do about %s", (words, way) => {
    const { code, message } = serverErrorOf(new Error(words), "redis at a:6379");
    expect(code).toBe("inbox_failed");
    expect(message).toContain(way);
    expect(message).toContain(words);
  });

  it("serverErrorOf() carries nothing of the command that failed", () => {
    const args = ["3", "AUTH", "default", "a-password", "a-signature"];
    const error = Object.assign(new Error("ERR wrong"), { command: { name: "hello", args } });
    const shown = inspect(serverErrorOf(error, "redis at a:6379"), { depth: 9, showHidden: true });
    expect(shown).toContain("The inbox at redis at a:6379: Error: ERR wrong");
    expect(shown).not.toMatch(/a-password|a-signature/);
  });
});
