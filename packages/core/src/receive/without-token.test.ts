import { createEmulator } from "@reporthook/emulator";
import { setUp } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it } from "vitest";
import type { Authorizer } from "../client/authorizer.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { messages } from "../log-messages.ts";
import type { ReceiverOptions } from "../options/receiver-options.ts";

const callback = { secrets: ["0123456789abcdef0123456789abcdef"], require: true };
const base = "https://app.example/hook";

/** A receiver that requires tokens, and sends to its bare address. */
function make(options: Partial<ReceiverOptions> = {}) {
  const setup = setUp({ callback, ...options });
  setup.seeAll();
  const { emulator, receiver, send } = setup;
  const bare = async (signature: "valid" | "invalid" | "expired" | "none" = "valid") =>
    (await send("report.complete", { signature })).status;
  /** Ten of them, and a second later. */
  const ten = async (signature: "valid" | "invalid" = "valid"): Promise<number[]> => {
    const statuses = await Promise.all(Array.from({ length: 10 }, () => bare(signature)));
    emulator.clock.advance(1_000);
    return statuses;
  };
  const held = () => receiver.inbox.list({ state: "held", limit: 2_000 });
  return { ...setup, bare, ten, held };
}

const all = (status: number) => Array.from({ length: 10 }, () => status);

describe("required tokens", () => {
  it.each([{}, { verify: "before-ack" }] as const)(
    "a signed request without its token is held once it is genuine, with %o",
    async (options) => {
      const { bare, held, receiver, seen, lines } = make(options);
      expect(await bare()).toBe(200);
      await receiver.idle();
      const [entry] = await held();
      expect(entry).toMatchObject({ type: "report.complete", reason: { code: "no_token" } });
      expect(await receiver.inbox.get(entry?.id ?? "")).toMatchObject({ verification: "valid" });
      expect(seen).toEqual([]);
      expect(lines.map(({ message }) => message)).toEqual([messages.tokenAwaited, messages.held]);
    },
  );

  it("a signed request without its token runs without a context once it is released", async () => {
    const { bare, held, receiver, seen } = make();
    await bare();
    await receiver.idle();
    const [entry] = await held();
    await receiver.inbox.release(entry?.id ?? "");
    await receiver.idle();
    expect(seen).toMatchObject([{ id: entry?.id, type: "report.complete", verification: "valid" }]);
    expect(seen[0]).not.toHaveProperty("context");
  });

  it("a signed request without its token is held as well where an outage lets an expired signature in", async () => {
    const { advanceUntil, bare, emulator, held, observed, seen } = make({
      expired: "handle-after-outage",
    });
    emulator.fault("authorize", { drop: true, times: 1 });
    await bare("expired");
    await advanceUntil(() => observed.some(([name]) => name === "parked"));
    expect(await held()).toMatchObject([{ reason: { code: "no_token" } }]);
    expect(seen).toEqual([]);
  });

  it("a signed request without its token is handled where the option is gone by then", async () => {
    const inbox = memoryInbox();
    const { bare, receiver, world } = make({ inbox, autostart: false });
    await bare();
    await receiver.close();
    const now = make({ inbox, ...world, callback: { ...callback, require: false } });
    await now.receiver.start();
    await now.receiver.idle();
    expect(now.seen).toHaveLength(1);
  });

  it("a signed request without its token gives authorize() no context", async () => {
    const asked: unknown[] = [];
    const client: Authorizer = {
      async authorize(_, { delivery }) {
        asked.push(delivery.context);
        return "valid";
      },
    };
    const { bare, receiver } = make({ client });
    await bare();
    await receiver.idle();
    expect(asked).toEqual([undefined]);
  });

  it("an unsigned request without its token is 404, also where a function finds no signature", async () => {
    expect(await make().bare("none")).toBe(404);
    const { bare, post, lines } = make({ signature: ({ headers }) => headers["x-mine"] });
    expect(await bare()).toBe(404);
    const { headers, body } = createEmulator().notification("report.complete");
    expect((await post({ headers: { ...headers, "x-mine": "s" }, body })).status).toBe(200);
    expect(lines.some(({ message }) => message === messages.unsignedHeld)).toBe(false);
  });

  it("a signed request without its token is 404 where nothing is stored", async () => {
    const { bare, receiver, send, post, seen } = make({ ack: "handled" });
    expect(await bare()).toBe(404);
    expect((await send("report.complete")).status).toBe(404);
    expect(seen).toEqual([]);
    const { headers, body } = createEmulator().notification("report.complete");
    const withToken = await receiver.callbackUrl(base);
    expect((await post({ headers, body }, withToken)).status).not.toBe(404);
  });

  it("a signed request without its token is 404 beyond ten a second", async () => {
    const { bare, emulator, ten, lines } = make();
    const statuses = await Promise.all(Array.from({ length: 12 }, () => bare()));
    expect(statuses).toEqual([...all(200), 404, 404]);
    expect(lines.map(({ message }) => message)).toContain(messages.tokenRefused);
    emulator.clock.advance(1_000);
    expect(await ten()).toEqual(all(200));
  });

  it("a signed request without its token is 404 while 1,000 are kept, of which a stranger's are none", async () => {
    const { bare, held, receiver, ten, emulator, post } = make();
    for (let second = 0; second < 150; second++) {
      expect(await ten("invalid")).toEqual(all(200));
      await receiver.idle();
    }
    for (let second = 0; second < 100; second++) {
      expect(await ten()).toEqual(all(200));
      await receiver.idle();
    }
    expect(await ten()).toEqual(all(404));
    const entries = await held();
    expect(entries).toHaveLength(1_000);
    const withToken = await receiver.callbackUrl(base);
    const { status } = await post(emulator.notification("report.complete"), withToken);
    expect(status).toBe(200);
    await receiver.inbox.discard(entries[0]?.id ?? "");
    expect(await bare()).toBe(200);
  });

  it("a signed request without its token is kept again once the service has rejected a stranger's", async () => {
    const { bare, receiver, ten } = make({ autostart: false });
    for (let second = 0; second < 100; second++) expect(await ten("invalid")).toEqual(all(200));
    expect(await bare()).toBe(404);
    await receiver.start();
    await receiver.idle({ timeoutMs: 60_000 });
    expect(await bare()).toBe(200);
  });
});
