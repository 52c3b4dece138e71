import { afterEach, describe, expect, it, vi } from "vitest";
import { loggerOf } from "../lib/log.ts";
import { memoryInbox } from "./memory/memory-inbox.ts";
import { type Holder, reserveName } from "./receivers.ts";

const silent = loggerOf("", {});
const durable = { ...memoryInbox().guarantees, durability: "fsync" } as const;
const holderOf = (inbox: Holder["inbox"] = memoryInbox()) => ({
  inbox,
  close: vi.fn(async () => {}),
});
const onFile = (identity: string) => holderOf({ identity, guarantees: durable });

afterEach(() => void vi.unstubAllEnvs());

describe("names", () => {
  it("reserveName() throws when the name is taken on the same store, by whatever object", () => {
    reserveName(onFile("/data/inbox.db"), "reports", false, silent);
    expect(() => reserveName(onFile("/data/inbox.db"), "reports", false, silent)).toThrow(
      TypeError,
    );
    reserveName(onFile("/data/inbox.db"), "others", false, silent);
    reserveName(holderOf(), "reports", false, silent);
  });

  it("reserveName() throws when a chosen name is taken, on whatever store, until it is given back", () => {
    const first = reserveName(holderOf(), "chosen", true, silent);
    expect(() => reserveName(holderOf(), "chosen", true, silent)).toThrow(
      'createReceiver: name "chosen" is taken: close the other receiver, or give this one another name. If this module is evaluated twice, write globalThis.receiver ??= make()',
    );
    reserveName(holderOf(), "chosen", false, silent);
    first.release();
    reserveName(holderOf(), "chosen", true, silent);
  });

  it("reserveName() takes a name over in development, on the same store alone", () => {
    vi.stubEnv("NODE_ENV", "development");
    const [one, two, other] = [onFile("/a.db"), onFile("/a.db"), onFile("/b.db")];
    const first = reserveName(one, "saved", true, silent);
    expect(() => reserveName(other, "saved", true, silent)).toThrow(/"saved" is taken/);
    const second = reserveName(two, "saved", true, silent);
    expect(one.close).toHaveBeenCalledOnce();
    expect([first.successor, second.successor]).toEqual([two, undefined]);
    first.release();
    vi.unstubAllEnvs();
    expect(() => reserveName(onFile("/a.db"), "saved", false, silent)).toThrow(/"saved" is taken/);
    second.release();
    reserveName(onFile("/a.db"), "saved", false, silent);
  });

  it("reserveName() takes a name over in development from an inbox in memory", () => {
    vi.stubEnv("NODE_ENV", "development");
    const one = holderOf();
    reserveName(one, "in memory", true, silent);
    reserveName(holderOf(), "in memory", true, silent);
    expect(one.close).toHaveBeenCalledOnce();
  });
});
