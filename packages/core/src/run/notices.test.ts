import { hostname } from "node:os";
import { expect, it } from "vitest";
import type { ConsumeOptions, InboxNotice } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { messages } from "../log-messages.ts";
import { createReceiver } from "../receiver.ts";

it("a receiver says in its log and its health what happens between processes", async () => {
  const tell: ConsumeOptions["onNotice"][] = [];
  const inbox = memoryInbox();
  const consume = inbox.consume.bind(inbox);
  inbox.consume = (stage, processor, options) => {
    tell.push(options.onNotice);
    return consume(stage, processor, options);
  };
  const lines: unknown[] = [];
  const receiver = createReceiver({
    client: { authorize: async () => "valid" },
    inbox,
    logger: { warn: (fields, message) => void lines.push([message, fields]) },
  }).on("*", () => {});
  await receiver.start();
  const notices: InboxNotice[] = [
    { what: "took_over", process: "7 on web-2", deliveries: 1, silentMs: 10_400 },
    { what: "took_over", process: "7 on web-2", deliveries: 16, silentMs: 5_000 },
    { what: "stood_still", ms: 6_000, isHandedOn: false },
    { what: "stood_still", ms: 41_000, isHandedOn: true },
  ];
  for (const notice of notices) tell[0]?.(notice);
  expect(lines).toMatchObject([
    [messages.tookOver, { what: "took over 1 delivery of process 7 on web-2, silent for 10 s" }],
    [messages.tookOver, { what: "took over 16 deliveries of process 7 on web-2, silent for 5 s" }],
    [messages.stoodStill, { what: "stood still for 6 s" }],
    [messages.stoodStill, { what: "stood still for 41 s; its deliveries were handed on" }],
  ]);
  expect((await receiver.health()).problems).toMatchObject([
    {
      code: "process_stalled",
      severity: "warning",
      count: null,
      reason: `${process.pid} on ${hostname()}`,
      text: expect.stringMatching(/^Process \d+ on .* stood still for 41 s, until 0 s ago\./),
    },
  ]);
  await receiver.close();
});

it.each([
  ["a copy", (options: ConsumeOptions) => ({ ...options })],
  ["an heir", (options: ConsumeOptions) => Object.create(options) as ConsumeOptions],
  ["a proxy", (options: ConsumeOptions) => new Proxy(options, {})],
])(
  "a receiver works on an inbox that is given %s of the options of its consumers",
  async (_what, wrapped) => {
    const inbox = memoryInbox();
    const consume = inbox.consume.bind(inbox);
    inbox.consume = (stage, processor, options) => consume(stage, processor, wrapped(options));
    const handled: string[] = [];
    const receiver = createReceiver({
      client: { authorize: async () => "valid" },
      inbox,
      logger: false,
    });
    receiver.on("*", ({ id }) => void handled.push(id));
    const body = JSON.stringify({ event_type: "test_webhook_endpoint" });
    const request = { method: "POST", body, headers: { "x-svc-authorization": "t=1,v1=1" } };
    expect((await receiver.fetch(new Request("http://localhost/", request))).status).toBe(200);
    await receiver.idle();
    expect(handled).toHaveLength(1);
    await receiver.close();
  },
);
