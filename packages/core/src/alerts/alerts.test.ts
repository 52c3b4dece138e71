import { AsyncLocalStorage } from "node:async_hooks";
import { DoNotRetry, type Inbox, memoryInbox, type ReceiverOptions } from "@reporthook/core";
import { gate, type Setup, setUp, turns } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Alert } from "./alert.ts";
import { type AlertsOptions, alerts } from "./alerts.ts";

const minute = 60_000;

interface Watching extends Setup {
  /** The messages that were sent. */
  readonly sent: Alert[];
  /** Lets time pass, five seconds at a time. */
  pass(ms: number): Promise<void>;
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
    async pass(ms) {
      await turns();
      for (let passed = 0; passed < ms; passed += 5_000) {
        setup.emulator.clock.advance(5_000);
        await turns();
      }
    },
    async park() {
      const { body } = await setup.send("report.complete");
      await turns();
      return body.id;
    },
  };
}

const textsOf = (sent: readonly Alert[]): string[] => sent.map(({ text }) => text);

/** A memory inbox, but for these parts. */
const inboxWith = (parts: Partial<Inbox>): Inbox => Object.assign(memoryInbox(), parts);

describe("what is parked", () => {
  it("alerts() sends one message for a burst, and one when all are released or discarded", async () => {
    const { sent, park, pass, receiver } = watched();
    const ids = [await park(), await park(), await park()];
    await pass(minute);
    expect(sent).toMatchObject([
      { kind: "parked", state: "firing", receiver: "reports", reason: "do_not_retry" },
    ]);
    expect(textsOf(sent)).toEqual([
      "reports: 3 deliveries were parked as do_not_retry. Look: npx reporthook inbox list --reason do_not_retry",
    ]);
    expect(sent[0]?.title).toBe("reports: 3 deliveries were parked as do_not_retry.");
    for (const id of ids.slice(1)) await receiver.inbox.discard(id);
    await pass(5 * minute);
    expect(sent.length).toBe(1);
    await receiver.inbox.discard(ids[0] ?? "");
    await pass(minute);
    expect(sent[1]).toMatchObject({ state: "resolved", since: sent[0]?.since });
    expect(sent[1]?.text).toMatch(
      /^reports: resolved after \d min: no delivery is parked as do_not_retry any more\.$/,
    );
    await pass(60 * minute);
    expect(sent.length).toBe(2);
  });

  it("alerts() tells what retention has deleted as deleted, not as resolved", async () => {
    const inbox = memoryInbox({ retention: { parkedMs: 10 * minute } });
    const { sent, park, pass, receiver } = watched({}, { inbox });
    for (let count = 0; count < 3; count++) await park();
    await pass(minute);
    expect(sent).toHaveLength(1);
    await pass(60 * minute);
    await receiver.inbox.discard({ state: "parked", idPrefix: await park() });
    for (let passed = 0; passed < 16; passed++) {
      await pass(minute);
      await receiver.inbox.counts();
    }
    await pass(minute);
    expect(sent.at(-1)).toMatchObject({ kind: "parked", state: "resolved" });
    expect(sent.at(-1)?.text).toMatch(
      /^reports: deleted after \d+ min: 3 deliveries were parked as do_not_retry until the end of the retention\.$/,
    );
  });

  it("alerts() counts what is parked within a window, and tells it at the end", async () => {
    const { sent, park, pass } = watched({ windowMs: 10 * minute });
    await park();
    await pass(minute);
    for (let count = 0; count < 4; count++) await park();
    await pass(8 * minute);
    expect(sent.length).toBe(1);
    await pass(2 * minute);
    expect(sent[1]?.title).toBe("reports: 4 deliveries were parked as do_not_retry.");
    await pass(30 * minute);
    expect(sent.length).toBe(2);
  });

  it("alerts() says nothing below the threshold, nor of few in many windows", async () => {
    const { sent, park, pass } = watched({ parked: 3, windowMs: 10 * minute });
    for (let count = 0; count < 5; count++) {
      await park();
      await pass(11 * minute);
    }
    expect(sent).toEqual([]);
    for (let count = 0; count < 3; count++) await park();
    await pass(minute);
    expect(sent[0]?.title).toBe("reports: 3 deliveries were parked as do_not_retry.");
  });

  it("alerts() has a message for each reason, and none for what is released in time", async () => {
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

  it('alerts() counts nothing as parked with ack: "handled"', async () => {
    const { sent, park, pass } = watched({}, { ack: "handled" });
    await park();
    await pass(minute);
    expect(sent).toEqual([]);
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

  it("alerts() tells before the receiver is closed what it has not told yet", async () => {
    const { sent, park, receiver } = watched();
    await park();
    await receiver.close();
    expect(sent.map(({ reason }) => reason)).toEqual(["do_not_retry"]);
  });
});

describe("what lasts", () => {
  it("alerts() tells of a refused API key once, and when it is accepted again", async () => {
    const { emulator, sent, pass, send } = watched();
    const end = emulator.fault("authorize", { status: 401 });
    for (let count = 0; count < 3; count++) await send("report.processing");
    await pass(3 * minute);
    expect(textsOf(sent)).toEqual([
      "reports: the service refuses the API key, verification is paused. Signatures expire after 5 minutes. Check apiKey.",
    ]);
    end();
    await pass(3 * minute);
    expect(sent.slice(1)).toMatchObject([{ kind: "refused", state: "resolved" }]);
  });

  it("alerts() tells of deliveries that wait too long, and of too many", async () => {
    const busy = gate();
    const options = { on: ["backlog"], oldestWaitingMs: 2 * minute, waiting: 2 } as const;
    const { receiver, sent, pass, send } = watched(options, {
      concurrency: { handle: 1 },
      handlerTimeoutMs: 60 * minute,
    });
    receiver.on("report.internal_error", () => busy.opened);
    await send("report.internal_error");
    await pass(90_000);
    expect(sent).toEqual([]);
    await pass(90_000);
    expect(sent[0]?.title).toMatch(/^reports: 1 delivery waits, the oldest for (2 min|1\d\d s)\.$/);
    busy.open();
    await pass(minute);
    expect(sent[1]?.text).toMatch(/^reports: resolved after .*: 0 deliveries wait\.$/);
  });

  it("alerts() tells of a number that waits", async () => {
    const busy = gate();
    const { receiver, sent, pass, send } = watched(
      { waiting: 2 },
      { handlerTimeoutMs: 60 * minute },
    );
    receiver.on("report.internal_error", () => busy.opened);
    for (let count = 0; count < 3; count++) await send("report.internal_error");
    await pass(2 * minute);
    expect(sent).toMatchObject([{ kind: "backlog", state: "firing" }]);
    expect(sent[0]?.title).toContain("3 deliveries wait");
    busy.open();
  });

  it("alerts() tells of an inbox that can't be opened or written, but of no short trouble", async () => {
    let isBroken = true;
    const fails = async (): Promise<void> => {
      if (isBroken) throw new Error("the disk is full");
    };
    const inbox = inboxWith({
      open: fails,
      health: async () => (isBroken ? { ok: false, error: "The disk is full" } : { ok: true }),
    });
    const { sent, pass, receiver } = watched({}, { inbox });
    await receiver.start().catch(() => {});
    await pass(35_000);
    isBroken = false;
    await pass(2 * minute);
    expect(sent).toEqual([]);
    isBroken = true;
    await pass(2 * minute);
    expect(textsOf(sent)).toEqual([
      "reports: the inbox fails, notifications are answered 503. The disk is full",
    ]);
    isBroken = false;
    await pass(2 * minute);
    expect(sent[1]).toMatchObject({ kind: "inbox", state: "resolved" });
    isBroken = true;
    await pass(2 * minute);
    expect(sent.length).toBe(2);
    await pass(10 * minute);
    expect(sent.length).toBe(3);
  });

  it("alerts() tells only what it is asked to", async () => {
    const { emulator, sent, park, pass, send } = watched({ on: ["inbox"] });
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
    expect(asked).toBe(2);
    await receiver.close();
    await pass(10 * minute);
    expect(asked).toBe(2);
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
        fields: { kind: "parked", error: "Error: https://hooks.example/… answered 500" },
      },
    ]);
    expect(tried).toEqual(["do_not_retry", "unsigned", "do_not_retry"]);
    await pass(5 * minute);
    expect(tried.length).toBe(5);
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
  await receiver.fetch(new Request(url, { method: "POST", headers, body }));
  await post({ headers: { "x-other": "hush-7", "content-type": "application/json" }, body });
  await post({ headers: { "X-svc-authorization": "hush-8" }, body: "[1]" });
  await pass(minute);
  emulator.fault("authorize", { status: 401 });
  for (let count = 0; count < 3; count++) await setup.send("report.processing");
  isBroken = true;
  await pass(2 * minute);
  const kinds = new Set((shown as Alert[]).map(({ kind, reason }) => reason ?? kind));
  expect([...kinds].sort()).toEqual(["do_not_retry", "inbox", "refused", "unsigned"]);
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
  expect(make({ send, to: "x" })).toThrow("alerts: to is no option");
  expect(make({ send, on: "parked" })).toThrow("alerts: on must be an array");
  expect(make({ send, on: ["dead"] })).toThrow(
    'alerts: on must be of parked, refused, backlog, inbox, not "dead"',
  );
  for (const name of ["parked", "oldestWaitingMs", "waiting", "windowMs"]) {
    expect(make({ send, [name]: 0 })).toThrow(`alerts: ${name} must be an integer from 1, not 0`);
  }
  expect(() => setUp({ ...(alerts({ send }) as object) })).toThrow("belongs into observe");
});
