import { DoNotRetry, type Inbox, memoryInbox, type Receiver } from "@reporthook/core";
import { fail, inboxWith, type SilentCase } from "./silent-case.ts";

/** As one says whose store gives no answer. */
function inboxThatFailsAtWork(): Inbox {
  const inbox = memoryInbox();
  const consume: Inbox["consume"] = (stage, work, policy) =>
    memoryConsume(
      stage,
      async (job, signal) => {
        policy.onError(new Error("not today"));
        return await work(job, signal);
      },
      policy,
    );
  const memoryConsume = inbox.consume.bind(inbox);
  return Object.assign(inbox, { consume });
}

/** The notifications that are stored, and not handled. */
export const silentWork: readonly SilentCase[] = [
  {
    when: "the service refuses the key",
    before: (emulator) => emulator.fault("authorize", { status: 401 }),
    says: "Check apiKey",
    rare: true,
  },
  {
    when: "the service gives no verdict",
    before: (emulator) => emulator.fault("authorize", { status: 500 }),
    says: "check baseUrl and whether the service is reachable",
  },
  {
    when: "the service does not know the signature",
    before: (emulator) => emulator.fault("authorize", { status: 406 }),
    says: "check apiKey and baseUrl",
  },
  {
    when: "the signature expired",
    before: (emulator) => emulator.fault("authorize", { status: 424 }),
    says: "Delivery held: release or discard it",
    shows: "reason: 'expired'",
  },
  {
    when: "the signature expired, with expired: refuse",
    options: () => ({ expired: "refuse" }),
    before: (emulator) => emulator.fault("authorize", { status: 424 }),
    says: "refused: its signature expired",
  },
  {
    when: 'the signature expired, with ack: "handled"',
    options: () => ({ ack: "handled", expired: "refuse" }),
    before: (emulator) => emulator.fault("authorize", { status: 424 }),
    says: "refused: its signature expired",
  },
  {
    when: 'the signature expired, with ack: "handled", which holds nothing',
    options: () => ({ ack: "handled" }),
    before: (emulator) => emulator.fault("authorize", { status: 424 }),
    says: "the option ack has nothing stored",
  },
  {
    when: "its body is no JSON object",
    sent: { body: "[1]" },
    says: "Delivery dead: see why",
    shows: "reason: 'not_understood'",
  },
  {
    when: "it is unknown, and its keys forge a line",
    sent: { body: '{"a\\nreporthook: forged %c %s":1,"\\u009b31m\\u202e":2}' },
    says: "Delivery held: release or discard it",
    shows: "u009b31m",
  },
  {
    when: "a handler throws",
    before: (_, receiver) =>
      receiver.on("report.complete", () => {
        throw new Error("no\u001b[2J\nreporthook: forged");
      }),
    says: "Handler failed; the delivery will be retried",
    shows: "u001b[2J",
  },
  {
    when: "a handler has a bug",
    before: (_, receiver) =>
      receiver.on("report.complete", () => {
        (undefined as unknown as Receiver).mount();
      }),
    says: "Handler failed; the delivery will be retried",
    shows: "    at ",
  },
  {
    when: "a handler gives up",
    before: (_, receiver) =>
      receiver.on("report.complete", () => {
        throw new DoNotRetry("no such customer");
      }),
    says: "Delivery dead: see why",
    shows: "no such customer",
  },
  {
    when: 'a handler throws, with ack: "handled"',
    options: () => ({ ack: "handled" }),
    before: (_, receiver) =>
      receiver.on("report.complete", () => {
        throw new Error("no");
      }),
    says: "Notification not handled: answered 503",
    shows: "Error: no",
  },
  {
    when: "no handler is registered for its type",
    before: (_, receiver) => receiver.on("report.processing", () => {}),
    says: "no handler is registered for its type",
    shows: "report.complete",
  },
  {
    when: "no handler is registered at all",
    says: "Receiver started without a handler",
  },
  {
    when: "start() is forgotten",
    options: () => ({ autostart: false }),
    says: "not handled before start()",
  },
  {
    when: "the inbox can't delete what is no longer kept",
    options: () => ({ inbox: inboxWith({ prune: fail }) }),
    says: "Expired deliveries not pruned",
    rare: true,
    shows: "not today",
  },
  {
    when: "the inbox fails at its work",
    options: () => ({ inbox: inboxThatFailsAtWork() }),
    says: "Inbox failed while processing deliveries",
    shows: "not today",
  },
  {
    when: "a hook of observe rejects",
    options: () => ({ observe: { acknowledged: () => Promise.reject(new Error("not today")) } }),
    says: "Processing failed unexpectedly",
    shows: "not today",
  },
  {
    when: "no inbox is given",
    options: () => ({ inbox: undefined }),
    says: "No inbox given",
  },
];
