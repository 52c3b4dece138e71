import { AsyncLocalStorage } from "node:async_hooks";
import { DoNotRetry, type Inbox, memoryInbox, type ReceiverOptions } from "@reporthook/core";
import { LivedClock, Lookout, Timekeeper, toolView } from "@reporthook/core/store";
import { type Setup, setUp, turns } from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Alert } from "./alert.ts";
import { type AlertsOptions, alerts } from "./alerts.ts";

const minute = 60_000;

interface Watching extends Setup {
  /** The messages that were sent. */
  readonly sent: Alert[];
  /** Lets time pass, five seconds at a time. */
  pass(ms: number): Promise<void>;
  /** Lets all of it pass at once. */
  leap(ms: number): Promise<void>;
  /** Another process on the inbox, which begins. */
  next(): Promise<Watching>;
  /** Sends a notification that a handler gives up on; resolves to its id. */
  park(): Promise<string>;
}

function watched(
  options: Partial<AlertsOptions> = {},
  receiver: Partial<ReceiverOptions> = {},
): Watching {
  const sent: Alert[] = [];
  const send = (alert: Alert): void => void sent.push(alert);
  const setup = setUp({ observe: alerts({ send, ...options }), ...receiver });
  setup.receiver.on("report.complete", () => {
    throw new DoNotRetry("the report was deleted");
  });
  setup.receiver.on("report.processing", () => {});
  return {
    ...setup,
    sent,
    leap: setup.pass,
    async next() {
      const one = watched(options, { ...receiver, ...setup.world });
      await one.receiver.start();
      return one;
    },
    async pass(ms) {
      await turns();
      await setup.pass(ms, 5_000);
    },
    async park() {
      const { body } = await setup.send("report.complete");
      await turns();
      return body.id;
    },
  };
}

const textsOf = (sent: readonly Alert[]): string[] => sent.map(({ text }) => text);

/** A memory inbox that can be full. */
function fillable(): { readonly inbox: Inbox; readonly isFull: { now: boolean } } {
  const isFull = { now: false };
  const memory = memoryInbox();
  const add: Inbox["add"] = async (...given) => {
    if (isFull.now) throw new Error("full");
    return memory.add(...given);
  };
  return { inbox: { ...memory, add }, isFull };
}

/** A memory inbox, but for these parts. */
const inboxWith = (parts: Partial<Inbox>): Inbox => Object.assign(memoryInbox(), parts);

describe("parked deliveries", () => {
  it("alerts() sends one message for a burst, and one when all are discarded, as deleted", async () => {
    const { sent, park, pass, receiver, emulator } = watched();
    await park();
    await receiver.inbox.discard({ reason: "do_not_retry" });
    // The problem begins later, so that this is none of it.
    emulator.clock.advance(1_000);
    const ids = [await park(), await park(), await park()];
    await pass(minute);
    expect(sent).toMatchObject([
      {
        code: "parked",
        state: "firing",
        severity: "warning",
        receiver: "reports",
        reason: "do_not_retry",
        count: 3,
      },
    ]);
    const look = "npx reporthook inbox list --reason do_not_retry";
    const title = "reports: 3 deliveries are parked as do_not_retry";
    const text = `${title}. Release or discard what waits for a person. Look: ${look}`;
    const { url } = (await receiver.health()).problems[0] ?? {};
    expect(sent[0]).toMatchObject({ title, text, command: look, url });
    for (const id of ids.slice(1)) await receiver.inbox.discard(id);
    await pass(5 * minute);
    expect(sent.length).toBe(1);
    await receiver.inbox.discard({ reason: "do_not_retry" }, { by: "ada" });
    await pass(minute);
    expect(sent[1]).toMatchObject({ state: "resolved", count: 3, since: sent[0]?.since, url });
    expect(sent[1]?.text).toMatch(
      /^reports: deleted after \d min: 3 parked deliveries were deleted at the end of the retention, to make room, or by a person\.$/,
    );
    await pass(60 * minute);
    expect(sent.length).toBe(2);
  });

  it("alerts() tells deliveries that retention has deleted as deleted, not as resolved", async () => {
    const inbox = memoryInbox({ retention: { parkedMs: 3 * 60 * minute } });
    const { sent, park, pass, receiver } = watched({}, { inbox });
    for (let count = 0; count < 3; count++) await park();
    await pass(minute);
    expect(sent).toHaveLength(1);
    for (let passed = 0; passed < 190; passed++) {
      await pass(minute);
      await receiver.inbox.counts();
    }
    await pass(minute);
    expect(sent.map(({ code, state }) => `${code} ${state}`)).toEqual([
      "parked firing",
      "parked_expiring firing",
      "parked resolved",
      "parked_expiring resolved",
    ]);
    expect(sent[1]?.text).toMatch(/^reports: 3 parked deliveries will be deleted, the first in /);
    for (const alert of sent.slice(2)) {
      expect(alert.count).toBe(3);
      expect(alert.text).toMatch(
        /^reports: deleted after \d+ (min|h): 3 parked deliveries were deleted at the end of the retention, to make room, or by a person\.$/,
      );
    }
  });

  it("alerts() tells the end also where an inbox of the app does not count what was deleted", async () => {
    const memory = memoryInbox();
    const facts: Inbox["facts"] = async (name) => {
      const { deleted: _, ...rest } = await memory.facts(name);
      return rest as Awaited<ReturnType<Inbox["facts"]>>;
    };
    const inbox = new Proxy(memory, {
      get: (of, name) => (name === "facts" ? facts : Reflect.get(of, name, of)),
    });
    const { sent, park, pass, receiver } = watched({}, { inbox });
    const id = await park();
    await pass(minute);
    await receiver.inbox.discard(id);
    await pass(minute);
    expect(sent.map(({ state }) => state)).toEqual(["firing", "resolved"]);
  });

  it("alerts() tells what another receiver's retention or a tool has deleted as deleted, however long ago", async () => {
    const inbox = memoryInbox({ retention: { parkedMs: 3 * 60 * minute } });
    const { sent, park, pass, leap, receiver, emulator } = watched({ on: ["parked"] }, { inbox });
    const deleted = await park();
    await leap(101 * minute);
    const discarded = await park();
    await leap(91 * minute);
    await inbox.prune(new Date(emulator.clock.now() + 5 * minute));
    await leap(6 * minute);
    expect(await receiver.inbox.get(deleted)).toBeNull();
    await leap(62 * minute);
    await receiver.inbox.discard(discarded);
    await pass(minute);
    expect(sent.map(({ title }) => title)).toEqual([
      "reports: 1 delivery is parked as do_not_retry",
      expect.stringMatching(/^reports: deleted after \d h: 2 parked deliveries were deleted/),
    ]);
  });

  it("alerts() has a message for each reason, and none for deliveries that are released in time", async () => {
    const { sent, park, pass, receiver, send } = watched();
    const id = await park();
    await receiver.inbox.discard(id);
    await pass(minute);
    expect(sent).toEqual([]);
    await park();
    await send("report.complete", { signature: "none" });
    await pass(minute);
    expect(sent.map(({ reason }) => reason).sort()).toEqual(["do_not_retry", "unsigned"]);
  });

  it("alerts() tells 5 seconds after the first of a burst was parked, whatever follows it", async () => {
    const { sent, park, receiver, leap } = watched({}, { clock: manualClock() });
    await receiver.start();
    await leap(10_000);
    await park();
    await leap(4_000);
    await park();
    await leap(999);
    expect(sent).toEqual([]);
    await leap(1);
    expect(sent).toMatchObject([{ count: 2 }]);
  });

  it("alerts() keeps with the next look what it could not keep", async () => {
    const inbox = memoryInbox();
    const { sent, park, pass } = watched({}, { inbox });
    const { keepNotes } = inbox;
    let failures = 0;
    const failing = vi.spyOn(inbox, "keepNotes").mockImplementation(async (name, notes) => {
      if ("now/told" in notes && failures++ < 2) throw new Error("away");
      return keepNotes(name, notes);
    });
    await park();
    await pass(10_000);
    expect([sent.length, await inbox.notes("reports", "now/told")]).toEqual([1, {}]);
    await pass(2 * minute);
    expect(Object.keys(await inbox.notes("reports", "now/told"))).toHaveLength(1);
    expect(sent).toHaveLength(1);
    failing.mockRestore();
  });

  it("alerts() leaves a hook of the app where it is", async () => {
    const seen: string[] = [];
    const sent: Alert[] = [];
    const observe = {
      ...alerts({ send: (alert) => void sent.push(alert) }),
      parked: ({ id }: { readonly id: string }) => void seen.push(id),
    };
    const { park, pass } = watched({}, { observe });
    const id = await park();
    await pass(minute);
    expect([seen, sent.length]).toEqual([[id], 1]);
  });

  it('alerts() tells of what was not handled, and of nothing parked, with ack: "handled"', async () => {
    const { sent, park, pass } = watched({}, { ack: "handled" });
    await park();
    await pass(minute);
    expect(sent).toMatchObject([{ code: "lost", severity: "critical" }]);
  });

  it("alerts() watches each of several receivers by itself, in the context of createReceiver", async () => {
    const requests = new AsyncLocalStorage<string>();
    const sent: string[] = [];
    const send = ({ receiver }: Alert): void => {
      sent.push(`${receiver} ${requests.getStore()}`);
    };
    const observe = alerts({ send });
    const one = watched({}, { observe, name: "one" });
    const other = watched({}, { observe, name: "other" });
    for (const { park, pass } of [one, other]) {
      await requests.run("a request", () => park().then(() => pass(minute)));
    }
    expect(sent).toEqual(["one undefined", "other undefined"]);
  });
});

describe("other problems", () => {
  it("alerts() tells of a refused API key once, and when it is accepted again", async () => {
    const { emulator, sent, pass, send } = watched();
    const end = emulator.fault("authorize", { status: 401 });
    for (let count = 0; count < 3; count++) await send("report.processing");
    await pass(3 * minute);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.text).toMatch(
      /^reports: The service refuses the API key, for \d+ s now\. 3 deliveries wait, the oldest signature expires in 4 min\. /,
    );
    end();
    await pass(3 * minute);
    expect(sent.slice(1)).toMatchObject([{ code: "key_refused", state: "resolved" }]);
  });

  it("alerts() tells once more of a warning that has become critical", async () => {
    const { inbox, isFull } = fillable();
    const { sent, pass, post, send, emulator } = watched(
      { on: ["lost"] },
      { inbox, limits: { bodyBytes: 500 } },
    );
    // A stranger can send it.
    await post({ ...emulator.notification("report.processing"), body: "x".repeat(600) });
    await pass(minute);
    isFull.now = true;
    await send("report.processing");
    await pass(minute);
    isFull.now = false;
    await pass(10 * minute);
    isFull.now = true;
    await send("report.processing");
    await pass(minute);
    await pass(70 * minute);
    expect(sent.map(({ state, severity, count }) => [state, severity, count])).toEqual([
      ["firing", "warning", 1],
      ["firing", "critical", 1],
      ["resolved", "critical", 0],
    ]);
  });

  it("alerts() tells that the API key is accepted after a restart with the right one, as a tool on the inbox does", async () => {
    const inbox = memoryInbox();
    const first = watched({}, { inbox });
    const { clock, fault } = first.emulator;
    const lived = new LivedClock(clock);
    const time = new Timekeeper(inbox, lived);
    const tool = new Lookout({ ...toolView(inbox, "reports"), clock: lived, time });
    const seen = async () => (await tool.health()).problems.map(({ code }) => code);
    const end = fault("authorize", { status: 401 });
    for (let count = 0; count < 3; count++) await first.send("report.processing");
    await first.pass(minute);
    expect(first.sent).toMatchObject([{ code: "key_refused", state: "firing" }]);
    await first.receiver.close();
    expect(await seen()).toEqual(["key_refused"]);
    end();
    const second = await first.next();
    await first.pass(2 * minute);
    expect((await second.receiver.inbox.counts()).handled).toBe(3);
    expect(await seen()).toEqual([]);
    expect(second.sent).toMatchObject([{ code: "key_refused", state: "resolved" }]);
  });

  it("alerts() tells of an inbox that can't be opened or written, though nothing can be kept in it", async () => {
    let isBroken = true;
    const fails = async (): Promise<void> => {
      if (isBroken) throw new Error("the disk is full");
    };
    const memory = memoryInbox();
    const inbox = inboxWith({
      open: fails,
      health: async () => (isBroken ? { ok: false, error: "The disk is full" } : { ok: true }),
      keepNotes: (...given) => fails().then(() => memory.keepNotes(...given)),
      notes: (...given) => memory.notes(...given),
    });
    const { sent, pass, receiver } = watched({}, { inbox });
    await receiver.start().catch(() => {});
    await pass(5 * minute);
    const text =
      "reports: The inbox can't store: notifications are answered 503. The disk is full.";
    expect(textsOf(sent)).toEqual([text]);
    isBroken = false;
    await pass(2 * minute);
    expect(sent[1]).toMatchObject({ code: "inbox_fails", state: "resolved" });
    expect(sent).toHaveLength(2);
  });

  it("alerts() tells only what it is asked to", async () => {
    const { emulator, sent, park, pass, send } = watched({ on: ["inbox_fails"] });
    await park();
    emulator.fault("authorize", { status: 401 });
    for (let count = 0; count < 3; count++) await send("report.processing");
    await pass(30 * minute);
    expect(sent).toEqual([]);
  });

  it("alerts() looks no more once the receiver is closed", async () => {
    let asked = 0;
    const inbox = inboxWith({ health: async () => ({ ok: ++asked > 0 }) });
    const { pass, receiver } = watched({}, { inbox });
    await receiver.start();
    await pass(minute);
    await receiver.close();
    const before = asked;
    expect(before).toBeGreaterThan(1);
    await pass(10 * minute);
    expect(asked).toBe(before);
  });
});

describe("processes", () => {
  it("alerts() tells once for an inbox, with any number of processes and restarts", async () => {
    const inbox = memoryInbox();
    const first = watched({}, { inbox });
    const id = await first.park();
    await first.pass(minute);
    expect(first.sent).toHaveLength(1);
    await first.receiver.close();
    const second = await first.next();
    await first.pass(5 * minute);
    expect(second.sent).toEqual([]);
    await second.receiver.inbox.discard(id);
    await first.pass(minute);
    expect(second.sent).toMatchObject([
      { code: "parked", state: "resolved", since: first.sent[0]?.since },
    ]);
  });

  it("alerts() tells nothing resolved that a process knew which ended over an hour ago", async () => {
    const inbox = memoryInbox();
    const first = watched({}, { inbox });
    for (let count = 0; count < 6; count++)
      await first.send("report.complete", { signature: "invalid" });
    await first.pass(minute);
    expect(first.sent).toMatchObject([{ code: "all_rejected", state: "firing", count: 6 }]);
    await first.receiver.close();
    await first.leap(2 * 60 * minute);
    const second = await first.next();
    await first.pass(70 * minute);
    expect(second.sent).toEqual([]);
    const problem = { code: "all_rejected", severity: "critical", count: 6 };
    expect((await second.receiver.health()).problems).toMatchObject([problem]);
  });

  it("alerts() tells once of a process that was killed, with any number of restarts", async () => {
    const inbox = memoryInbox();
    const first = watched({}, { inbox });
    await first.receiver.start();
    await first.pass(5_000);
    const [[key = "", text = ""] = []] = Object.entries(
      await inbox.notes("reports", "now/process/"),
    );
    const killed = { ...JSON.parse(text), id: "killed", pid: 1 };
    await inbox.keepNotes("reports", { [key.replace(/[^/]+$/, "killed")]: JSON.stringify(killed) });
    await first.pass(minute);
    const problem = { code: "process_stalled", reason: expect.stringMatching(/^1 on /) };
    expect(first.sent).toMatchObject([{ ...problem, state: "firing" }]);
    await first.receiver.close();
    const second = await first.next();
    await first.pass(5 * minute);
    expect(second.sent).toEqual([]);
    await first.pass(60 * minute);
    expect(second.sent).toMatchObject([{ ...problem, state: "resolved" }]);
  });

  it("alerts() leaves out what another version has told that this one does not know", async () => {
    const inbox = memoryInbox();
    const told = {
      later: { code: "later", severity: "critical", reason: null, count: 1, since: 1 },
    };
    await inbox.keepNotes("reports", { "now/told": JSON.stringify({ ...told, odd: null }) });
    const { sent, park, pass, receiver, lines } = watched({}, { inbox });
    const id = await park();
    await pass(minute);
    await receiver.inbox.discard(id);
    await pass(minute);
    expect(sent.map(({ code, state }) => `${code} ${state}`)).toEqual([
      "parked firing",
      "parked resolved",
    ]);
    expect(lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("alerts() tells once for an inbox, with two processes at once", async () => {
    const inbox = memoryInbox();
    const first = watched({}, { inbox });
    await first.receiver.start();
    await first.pass(5_000);
    // Another process does not know the names of this one.
    const names = Symbol.for("reporthook.receivers");
    (globalThis as unknown as Record<symbol, Map<unknown, unknown>>)[names]?.clear();
    const second = await first.next();
    await first.pass(minute);
    const id = await first.park();
    await first.pass(5 * minute);
    await second.receiver.inbox.discard(id);
    await first.pass(5 * minute);
    expect(first.sent.map(({ state }) => state)).toEqual(["firing", "resolved"]);
    expect(second.sent).toEqual([]);
    // The other one goes on where the first has ended.
    await first.receiver.close();
    await second.send("report.complete", { signature: "none" });
    await first.pass(2 * minute);
    expect(second.sent).toMatchObject([{ reason: "unsigned", state: "firing" }]);
  });
});

describe("a send that fails", () => {
  it("alerts() sends a message again when send fails, tells the next one, and logs it once a minute", async () => {
    const tried: string[] = [];
    const { lines, park, pass, send } = watched({
      send: ({ reason }) => {
        tried.push(String(reason));
        if (reason === "do_not_retry" && tried.length < 5) {
          throw new Error("https://hooks.example/T0/secret answered 500");
        }
      },
    });
    await park();
    await send("report.complete", { signature: "none" });
    await pass(35_000);
    const failed = lines.filter(({ message }) => message.startsWith("Alert not sent"));
    expect(failed).toMatchObject([
      {
        level: "error",
        message: "Alert not sent; retrying.",
        fields: { code: "parked", error: "Error: https://hooks.example/… answered 500" },
      },
    ]);
    expect(tried).toEqual(["do_not_retry", "unsigned", "do_not_retry"]);
    await pass(5 * minute);
    expect(tried.length).toBe(5);
  });

  it("alerts() sends a message again when send resolves to a response that is not ok", async () => {
    const statuses = [404, 500, 200];
    let tries = 0;
    const { lines, park, pass } = watched({
      send: async () => new Response(null, { status: statuses[tries++] ?? 200 }),
    });
    await park();
    await pass(5 * minute);
    expect(tries).toBe(3);
    const [failed] = lines.filter(({ message }) => message.startsWith("Alert not sent"));
    expect(failed?.fields).toMatchObject({ code: "parked", error: "Error: send was answered 404" });
  });

  it("alerts() waits 10 seconds for send, aborts its signal, and holds up neither the receiver nor the next message", async () => {
    const signals: AbortSignal[] = [];
    const told: unknown[] = [];
    const { lines, park, pass, send, receiver } = watched({
      send: ({ reason }, { signal }) => {
        if (reason === "unsigned") return void told.push(reason);
        signals.push(signal);
        return new Promise(() => {});
      },
    });
    await park();
    await send("report.complete", { signature: "none" });
    await pass(25_000);
    expect(signals[0]?.aborted).toBe(true);
    expect(told).toEqual(["unsigned"]);
    expect(lines.at(-1)?.fields).toMatchObject({ error: "Error: send took over 10 s" });
    expect((await send("report.processing")).status).toBe(200);
    await pass(60 * minute);
    // A send that never settles is called so often and no more.
    expect(signals.length).toBe(10);
    expect(lines.at(-1)?.fields["error"]).toContain("have not settled");
    expect((await receiver.inbox.counts()).handled).toBe(1);
  });
});

it("alerts() puts nothing secret into a message or a log line", async () => {
  const planted = "key-that-nobody-may-see";
  const everything = `${planted} https://user:hush-1@redis.example/hush-2?token=hush-3 /run/hush-4 http://redis.example/a?b=hush-9`;
  let isBroken = false;
  const inbox = inboxWith({
    health: async () => (isBroken ? { ok: false, error: `Away:\n${everything}` } : { ok: true }),
  });
  const shown: unknown[] = [];
  const setup = watched(
    {
      send: (alert) => {
        shown.push(alert);
        throw new Error(`No: ${everything}`);
      },
    },
    { inbox, callback: { secrets: ["0123456789abcdef0123456789abcdef"] } },
  );
  const { receiver, emulator, pass, post, lines } = setup;
  receiver.on("report.internal_error", () => {
    throw new DoNotRetry(everything);
  });
  const url = await receiver.callbackUrl("https://app.example/hook", {
    context: { hush: "hush-5" },
  });
  const { headers } = emulator.notification("report.internal_error");
  const body = JSON.stringify({ status: "internal_error", report_id: "hush-6", note: everything });
  await post({ headers, body }, url);
  await post({ headers: { "x-other": "hush-7", "content-type": "application/json" }, body });
  await post({ headers: { "X-svc-authorization": "hush-8" }, body: "[1]" });
  await pass(minute);
  emulator.fault("authorize", { status: 401 });
  for (let count = 0; count < 3; count++) await setup.send("report.processing");
  isBroken = true;
  await pass(2 * minute);
  const kinds = new Set((shown as Alert[]).map(({ code, reason }) => reason ?? code));
  expect([...kinds].sort()).toEqual(["do_not_retry", "inbox_fails", "key_refused", "unsigned"]);
  const said = JSON.stringify([
    shown,
    lines.filter(({ message }) => message.startsWith("Alert not sent")),
  ]);
  expect(said).toContain("redis.example/…");
  expect(said).not.toMatch(/hush|nobody-may-see/);
  for (const token of [url.split("=").at(-1) ?? "", headers["X-svc-authorization"] ?? ""]) {
    expect(token.length).toBeGreaterThan(8);
    expect(said).not.toContain(token);
  }
});

it.each(["<!channel> <@U1>", "@everyone", "[Log in](evil.example)", "<a href=//evil.example>"])(
  "alerts() shows a stranger's %s in an error as no mention, tag or link",
  async (payload) => {
    const { sent, pass, post, receiver } = watched();
    receiver.on("test_webhook_endpoint", (event) => {
      throw new Error(`unusable: ${event.payload}`);
    });
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ event_type: "test_webhook_endpoint", payload });
    expect((await post({ headers, body })).status).toBe(200);
    await pass(minute);
    const [alert] = sent;
    expect(alert?.code).toBe("handlers_failing");
    expect(alert?.text).toContain("unusable");
    expect(`${alert?.title} ${alert?.text}`).not.toMatch(/[<>@[]/);
  },
);

it("alerts() throws where a process may end right after the answer, and takes no name", () => {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  onTestFinished(() => void vi.unstubAllGlobals());
  const inbox = memoryInbox();
  const options = { inbox, name: "on-workers", ack: "handled" } as const;
  expect(() => setUp({ ...options, observe: alerts({ send() {} }) })).toThrow(
    /alerts\(…\) needs a process that lives on, and Cloudflare Workers may end/,
  );
  expect(() => setUp(options)).not.toThrow();
});

it("alerts() throws a TypeError that names a wrong option", () => {
  const make = (options: unknown) => () => alerts(options as AlertsOptions);
  const send = (): void => {};
  expect(make(undefined)).toThrow("alerts: options must be an object");
  expect(make({})).toThrow("alerts: send must be a function, not undefined");
  expect(make({ send, windowMs: 1 })).toThrow("alerts: windowMs is no option");
  expect(make({ send, to: "x" })).toThrow("alerts: to is no option");
  expect(make({ send, on: "parked" })).toThrow("alerts: on must be an array");
  expect(make({ send, on: ["dead"] })).toThrow(
    /^alerts: on must be of inbox_fails, .*, process_stalled, not "dead"$/,
  );
  expect(() => setUp({ ...(alerts({ send }) as object) })).toThrow("belongs into observe");
});
