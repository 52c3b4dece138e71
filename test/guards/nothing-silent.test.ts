import { format } from "node:util";
import {
  createClient,
  createReceiver,
  memoryInbox,
  type Receiver,
  type ReceiverOptions,
} from "@reporthook/core";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { expect, onTestFinished, test, vi } from "vitest";

/** A reason why a genuine notification is not handled, and the line that the default logger has to write of it. */
interface Case {
  readonly when: string;
  readonly options?: Partial<ReceiverOptions>;
  /** What the sender changes about a genuine one. */
  readonly sent?: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly unsigned?: true;
    /** No length is told ahead. */
    readonly streamed?: true;
    readonly cutOff?: true;
  };
  readonly before?: (emulator: Emulator, receiver: Receiver) => unknown;
  readonly says: string;
  /** What the fields have to show. */
  readonly shows?: string;
}

const elsewhere = { "x-other": "a signature" };
const large = JSON.stringify({ padding: "x".repeat(5_000) });

const cases: readonly Case[] = [
  {
    when: "the signature comes in another header",
    sent: { unsigned: true, headers: elsewhere },
    says: "name it in the option signature",
    shows: "x-other",
  },
  {
    when: "the same with unsigned: refuse",
    options: { unsigned: "refuse" },
    sent: { unsigned: true, headers: elsewhere },
    says: "A notification without a signature is refused, as the options say",
    shows: "x-other",
  },
  {
    when: "the same, and the body is over 4 KiB",
    sent: { unsigned: true, headers: elsewhere, body: large },
    says: "A body over the limit is refused: answered 413",
    shows: "x-other",
  },
  {
    when: "the same, and the content type is another",
    sent: { unsigned: true, headers: { ...elsewhere, "content-type": "text/plain" } },
    says: "is not sent as JSON: answered 415",
    shows: "x-other",
  },
  {
    when: "the same, and the body is no JSON object",
    sent: { unsigned: true, headers: elsewhere, body: "[]" },
    says: "is no JSON object: answered 400",
    shows: "x-other",
  },
  {
    when: "a signed body is over limits.bodyBytes",
    options: { limits: { bodyBytes: 10 } },
    says: "Raise limits.bodyBytes",
    shows: "x-svc-authorization",
  },
  {
    when: "a signed body of no known length is over limits.bodyBytes",
    options: { limits: { bodyBytes: 10 } },
    sent: { streamed: true },
    says: "Raise limits.bodyBytes",
    shows: "x-svc-authorization",
  },
  {
    when: "the body does not arrive whole",
    sent: { cutOff: true },
    says: "did not arrive whole and in time: answered 408",
    shows: "x-svc-authorization",
  },
  {
    when: "the service refuses the key",
    before: (emulator) => emulator.fault("authorize", { status: 401 }),
    says: "Check apiKey",
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
    says: "A delivery is held: release it",
    shows: "reason: 'expired'",
  },
  {
    when: "the signature expired, with expired: refuse",
    options: { expired: "refuse" },
    before: (emulator) => emulator.fault("authorize", { status: 424 }),
    says: "refused because its signature expired",
  },
  {
    when: 'the signature expired, with ack: "handled"',
    options: { ack: "handled", expired: "refuse" },
    before: (emulator) => emulator.fault("authorize", { status: 424 }),
    says: "refused because its signature expired",
  },
  {
    when: "its body is no JSON object",
    sent: { body: "[1]" },
    says: "A delivery is dead: see why",
    shows: "reason: 'not_understood'",
  },
  {
    when: "it is unknown, and its keys forge a line",
    sent: { body: '{"a\\nreporthook: forged %c %s":1,"\\u009b31m\\u202e":2}' },
    says: "A delivery is held: release it",
    shows: "u009b31m",
  },
  {
    when: "a handler throws",
    before: (_, receiver) =>
      receiver.on("report.complete", () => {
        throw new Error("no\u001b[2J\nreporthook: forged");
      }),
    says: "A handler failed: it is tried again",
    shows: "u001b[2J",
  },
  {
    when: "the receiver closes",
    before: (_, receiver) => receiver.close(),
    says: "while the receiver closes: answered 503",
  },
  {
    when: "too many wait",
    options: { autostart: false, limits: { waiting: 1 } },
    before: (emulator, receiver) =>
      receiver.fetch(
        new Request("https://app.example/first", emulator.notification("report.complete")),
      ),
    says: "Too many notifications wait: answered 503",
  },
];

test.each(cases)("the default logger tells the way out when $when", async (given) => {
  const output: string[] = [];
  const write = (...parts: unknown[]): void => void output.push(format(...parts));
  vi.spyOn(console, "warn").mockImplementation(write);
  vi.spyOn(console, "error").mockImplementation(write);
  onTestFinished(() => void vi.restoreAllMocks());
  const emulator = createEmulator();
  const { options = {}, sent = {} } = given;
  const receiver = createReceiver({
    client: createClient(emulator.clientOptions),
    clock: emulator.clock,
    ...(options.ack !== "handled" && { inbox: memoryInbox() }),
    ...options,
  });
  await given.before?.(emulator, receiver);
  const notification = emulator.notification("report.complete", {
    ...(sent.unsigned && { signature: "none" as const }),
    ...(sent.body !== undefined && { body: sent.body as never }),
  });
  const body = sent.body ?? notification.body;
  const send = () =>
    receiver.fetch(
      new Request("https://app.example/hook", {
        method: "POST",
        headers: { ...notification.headers, ...sent.headers },
        ...(sent.streamed || sent.cutOff
          ? { body: streamOf(body, sent.cutOff), duplex: "half" }
          : { body }),
      } as RequestInit),
    );
  await send();
  const said = (): string | undefined => output.find((line) => line.includes(given.says));
  await vi.waitFor(() => expect(said(), output.join("\n")).toBeDefined());
  expect(said()).toContain(given.shows ?? "");
  // Nothing from outside steers a terminal or begins a line.
  expect(output.join("\n")).not.toMatch(/[^\P{Cc}\n]|[\u2028-\u202e]/u);
  expect(output.join("\n")).not.toMatch(/^reporthook: forged/m);
  await receiver.close();
});

/** A body that comes in a stream, whole or broken off. */
function streamOf(body: string | Uint8Array, cutOff = false): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(stream) {
      stream.enqueue(typeof body === "string" ? new TextEncoder().encode(body) : body);
      if (cutOff) stream.error(new Error("broken off"));
      else stream.close();
    },
  });
}

test("the default logger tells of refusals once a minute, with their number", async () => {
  const output: string[] = [];
  const write = (...parts: unknown[]): void => void output.push(format(...parts));
  vi.spyOn(console, "warn").mockImplementation(write);
  onTestFinished(() => void vi.restoreAllMocks());
  const emulator = createEmulator();
  const receiver = createReceiver({
    client: createClient(emulator.clientOptions),
    clock: emulator.clock,
    inbox: memoryInbox(),
    limits: { bodyBytes: 10 },
  });
  const send = () =>
    receiver.fetch(
      new Request("https://app.example/hook", emulator.notification("report.complete")),
    );
  const lines = () => output.filter((line) => line.includes("answered 413"));
  for (let sent = 0; sent < 3; sent++) await send();
  expect(lines()).toHaveLength(1);
  await emulator.clock.advance(60_000);
  await send();
  expect(lines()).toHaveLength(2);
  expect(lines()[1]).toMatch(/count: 3/);
  await receiver.close();
});
