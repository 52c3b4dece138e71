import { memoryInbox } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { sumOf } from "@reporthook/core/store";
import type { NotificationName, NotificationOptions } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { patient } from "@reporthook/test-support/patient";
import { setUp, turns } from "@reporthook/test-support/receiver-setup";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listen } from "../adapters/hosts/mount.ts";
import { query } from "../inboxes/durability/serve.ts";
import { Senders } from "./abuse/senders.ts";

// How many times the usual flood, for a long look, which also reaches the cap on rejected ones: ABUSE_FLOOD=6.
const times = Number(process.env["ABUSE_FLOOD"] ?? 1);
vi.setConfig({ testTimeout: 180_000 * times });

/** An inbox of a kind, and how many bytes of its file are in use: the others are used again. */
function inboxOf(kind: string) {
  if (kind === "memory") return { inbox: memoryInbox(), bytes: () => 0 };
  const path = temporaryPath();
  const bytes = (): number =>
    query(path, (all) => {
      const sql = `SELECT (page_count - freelist_count) * page_size AS bytes
        FROM pragma_page_count, pragma_freelist_count, pragma_page_size`;
      return Number(all(sql)[0]?.["bytes"]);
    });
  return { inbox: sqliteInbox(path), bytes };
}

/** A receiver on a port, whose clock is moved on. */
async function scene(kind: string) {
  const { inbox, bytes } = inboxOf(kind);
  const setup = setUp({ inbox, ...patient });
  const { emulator, receiver } = setup;
  const handled: string[] = [];
  receiver.on("*", (event) => {
    if (event.type === "test_webhook_endpoint") throw new Error("tests fail, and so they wait");
    handled.push(event.verification ?? "overdue");
  });
  const { url, close } = await listen(nodeHandler(receiver), "/hook");
  const senders = new Senders(url);
  onTestFinished(async () => {
    senders.close();
    await close();
  });
  let genuine = 0;
  return {
    ...setup,
    bytes,
    handled,
    /** Sends so many at once, and a genuine one among them; resolves to how often each answer came to the others. */
    async flood(count: number, name: NotificationName, options: NotificationOptions) {
      const many = Array.from({ length: count }, () => emulator.notification(name, options));
      const one = senders.send(emulator.notification("report.complete"));
      const answers = await senders.all(many);
      expect((await one).status).toBe(200);
      genuine++;
      return answers;
    },
    /** All genuine ones are handled, and nothing else is. */
    async settled() {
      await vi.waitFor(() => expect(handled).toHaveLength(genuine), { timeout: 60_000 });
      expect(new Set(handled)).toEqual(new Set(["valid"]));
    },
  };
}

const filler = (bytes: number): object => ({ filler: "x".repeat(bytes) });

describe.each(["memory", "sqlite"])("the inbox in %s", (kind) => {
  it("a flood of unsigned tests leaves at most 100 waiting, of 10 a second", async () => {
    const { flood, settled, emulator, receiver, lines } = await scene(kind);
    const seconds = 20 * times;
    let accepted = 0;
    for (let second = 0; second < seconds; second++) {
      const answers = await flood(100, "test_webhook_endpoint", { signature: "none" });
      expect([...answers.keys()].every((status) => status === 200 || status === 401)).toBe(true);
      accepted += answers.get(200) ?? 0;
      emulator.clock.advance(1_000);
    }
    expect(accepted).toBeGreaterThan(0);
    expect(accepted).toBeLessThanOrEqual(10 * (seconds + 1));
    await settled();
    expect((await receiver.inbox.counts()).verified).toBe(100);
    // The app's own failures are logged one by one; the flood is not.
    const others = lines.filter(({ fields }) => !String(fields["error"]).includes("tests fail"));
    expect(others.length).toBeLessThan(5 * (1 + seconds / 60));
  });

  it("a flood of other unsigned notifications leaves at most 1,000 held, of 4 KiB", async () => {
    const { flood, settled, emulator, receiver, bytes, lines } = await scene(kind);
    const seconds = 110 * times;
    const large = await flood(20, "report", { signature: "none", body: filler(4_200) });
    expect([...large.keys()]).toEqual([413]);
    for (let second = 0; second < seconds; second++) {
      await flood(20, "report", { signature: "none", body: filler(3_900) });
      emulator.clock.advance(1_000);
    }
    await settled();
    expect(await receiver.inbox.counts()).toMatchObject({ held: 1_000, received: 0 });
    const full = await flood(20, "report", { signature: "none" });
    expect([...full]).toEqual([[401, 20]]);
    await settled();
    // A thousand of 4 KiB, each in its own page, and another page for a row that its history made too long for one.
    expect(bytes()).toBeLessThan(9 * 2 ** 20);
    expect(lines.length).toBeLessThan(5 * (1 + seconds / 60));
  });

  it("a flood of forged notifications leaves at most 10,000, and the bodies of 1,000", async () => {
    const { flood, settled, emulator, receiver, bytes, lines } = await scene(kind);
    const count = 2_000 * times;
    const bodyBytes = 4_000;
    for (let sent = 0; sent < count; sent += 500) {
      const forged = { signature: "invalid", body: filler(bodyBytes) } as const;
      expect([...(await flood(500, "report", forged))]).toEqual([[200, 500]]);
    }
    await settled();
    const ended = async (): Promise<void> => {
      const { received, rejected } = await receiver.inbox.counts();
      expect(received).toBe(0);
      expect(rejected).toBeLessThanOrEqual(10_000);
    };
    // Deliveries over the cap are deleted once a minute.
    await vi.waitFor(
      async () => {
        emulator.clock.advance(61_000);
        await flood(1, "report", { signature: "invalid" });
        await turns();
        await ended();
      },
      { timeout: 60_000 },
    );
    await settled();
    const whole = await receiver.inbox.retry({ state: "rejected" }, { dryRun: true });
    expect(sumOf(whole)).toBe(1_000);
    expect(bytes()).toBeLessThan((count * bodyBytes) / 2 + 1_000 * bodyBytes);
    expect(lines.length).toBeLessThan(60);
  });
});

it("a flood with an old genuine signature and ever new bodies leaves room for others in memory", async () => {
  const inbox = memoryInbox({ maxBytes: 1_000_000 });
  const { emulator, receiver, post, send, seen, seeAll } = setUp({ inbox });
  seeAll();
  const { headers } = emulator.notification("report", { signature: "expired" });
  for (let sent = 0; sent < 50; sent++) {
    const body = JSON.stringify({ status: "complete", sent, filler: "x".repeat(100_000) });
    expect((await post({ headers, body })).status).toBe(200);
    await receiver.idle();
  }
  expect((await send("report.complete", { body: filler(100_000) })).status).toBe(200);
  await receiver.idle();
  expect(seen).toHaveLength(1);
  expect(await receiver.inbox.counts()).toMatchObject({ held: 4, handled: 1 });
});
