import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import {
  createClient,
  createReceiver,
  type Entry,
  memoryInbox,
  type Receiver,
  type ReceiverOptions,
} from "@reporthook/core";
import { createEmulator, type Emulator, type NotificationOptions } from "@reporthook/emulator";
import { describe, expect, test } from "vitest";
import { raw, served } from "./hosts/mount.ts";
import { type Parser, type ParserHost, parserHosts, path } from "./hosts/parsers.ts";

const complete = '{"status":"complete","report_id":"r-1","score":1.0}';
const filled = (bytes: number): string => `{"status":"complete","x":"${"x".repeat(bytes)}"}`;
const typed = (type: string) => ({ "content-type": type });
const encoded = (encoding: string) => ({ "content-encoding": encoding });
const form = typed("application/x-www-form-urlencoded");

interface Row {
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signature?: "none";
  /** Our answer, with no parser and behind every parser that `instead` does not name. */
  readonly ours: string;
  /** The answer behind a parser instead: the parser's own status, or another answer of ours. */
  readonly instead?: Partial<Record<Parser, string>>;
}

const json: readonly Parser[] = ["express.json()", "express.json() that keeps rawBody"];
const koa: readonly Parser[] = ["koa-bodyparser", "@koa/bodyparser", "koa-body"];
const bytes: readonly Parser[] = ["express.raw()", "express.text()"];
const hono = { "c.req.json()": "500 of the app", "a validator": "400 of the parser" };

function by(parsers: readonly Parser[], answer: string): Partial<Record<Parser, string>> {
  return Object.fromEntries(parsers.map((parser) => [parser, answer]));
}

/** An object in an object in an object. */
const nested = `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`;

/** Whether the runtime can write what it has parsed. */
function writesAgain(text: string): boolean {
  const parsed: unknown = JSON.parse(text);
  try {
    return JSON.stringify(parsed) === text;
  } catch {
    return false;
  }
}

const refused = by([...json, ...koa], "400 of the parser");
const tooMuch = by([...json, ...bytes], "413 of the parser");

// The one list of what a parser ahead answers in our place; docs/body-parsers.md shows it.
const table: Readonly<Record<string, Row>> = {
  "a report": { ours: "200 accepted" },
  "text that is not ASCII": {
    body: '{"status":"complete","report_id":"größe-漢字-🎉"}',
    ours: "200 accepted",
  },
  "an array": { body: "[]", ours: "200 accepted" },
  nothing: { body: "", ours: "200 accepted", instead: hono },
  null: { body: "null", ours: "200 accepted", instead: refused },
  "half a JSON text": {
    body: '{"status":',
    ours: "200 accepted",
    instead: { ...refused, ...hono },
  },
  "__proto__ as a key": {
    body: '{"__proto__":{"a":1},"status":"complete"}',
    ours: "200 accepted",
    instead: by(koa, "400 of the parser"),
  },
  "10,000 nested objects": {
    body: nested,
    ours: "200 accepted",
    // Node 20 to 24 parse what is nested deeper than they can write.
    instead: writesAgain(nested) ? {} : by(["express.json()", "koa-body"], "500 body_unavailable"),
  },
  "150 KB": { body: filled(150_000), ours: "200 accepted", instead: tooMuch },
  "300 KB": { body: filled(300_000), ours: "413 body_too_large", instead: tooMuch },
  gzip: {
    body: gzipSync(complete),
    headers: encoded("gzip"),
    ours: "200 accepted",
    instead: hono,
  },
  "gzip that is broken": {
    headers: encoded("gzip"),
    ours: "200 accepted",
    instead: {
      ...by([...json, ...bytes], "400 of the parser"),
      ...by(koa, "500 of the parser"),
    },
  },
  "an unknown content encoding": {
    headers: encoded("x-nothing"),
    ours: "200 accepted",
    instead: by([...json, ...bytes, ...koa], "415 of the parser"),
  },
  "an unknown charset": {
    headers: typed("application/json; charset=x-nothing"),
    ours: "200 accepted",
    instead: by([...json, "express.text()"], "415 of the parser"),
  },
  "text/plain": { headers: typed("text/plain"), ours: "200 accepted" },
  "a form": {
    body: "a=b",
    headers: form,
    ours: "200 accepted",
    instead: { "c.req.json()": "500 of the app" },
  },
  "an unsigned report": { signature: "none", ours: "200 accepted" },
  "an unsigned array": { signature: "none", body: "[]", ours: "400 invalid_json" },
  "unsigned null": { signature: "none", body: "null", ours: "400 invalid_json", instead: refused },
  "unsigned nothing": { signature: "none", body: "", ours: "400 invalid_json", instead: hono },
  "half an unsigned JSON text": {
    signature: "none",
    body: '{"status":',
    ours: "400 invalid_json",
    instead: { ...refused, ...hono },
  },
  "unsigned text/plain": {
    signature: "none",
    headers: typed("text/plain"),
    ours: "415 unsupported_media_type",
  },
  "an unsigned form": {
    signature: "none",
    body: "a=b",
    headers: form,
    ours: "415 unsupported_media_type",
    instead: { "c.req.json()": "500 of the app" },
  },
  "unsigned gzip": {
    signature: "none",
    body: gzipSync(complete),
    headers: encoded("gzip"),
    ours: "415 unsupported_media_type",
    instead: hono,
  },
  "5 KB unsigned": { signature: "none", body: filled(5_000), ours: "413 body_too_large" },
};

interface Setup {
  readonly emulator: Emulator;
  readonly receiver: Receiver;
  readonly url: string;
  post(options?: NotificationOptions, row?: Partial<Row>): Promise<string>;
  /** All that is stored, oldest first. */
  entries(): Promise<Entry[]>;
}

async function behind(
  { serve }: ParserHost,
  run: (setup: Setup) => Promise<void>,
  options: Partial<ReceiverOptions> = {},
): Promise<void> {
  const emulator = createEmulator();
  const client = createClient(emulator.clientOptions);
  const receiver = createReceiver({ client, inbox: memoryInbox(), logger: false, ...options });
  const { url, close } = await served(serve(receiver), path);
  try {
    await run({
      emulator,
      receiver,
      url,
      async post({ signature, body = complete } = {}, row = {}) {
        const { headers } = emulator.notification("report", { signature });
        const init = { method: "POST", headers: { ...headers, ...row.headers } };
        const response = await fetch(url, { ...init, body: row.body ?? (body as string) });
        return nameOf(response.status, await response.text());
      },
      async entries() {
        await receiver.idle();
        return receiver.inbox.list();
      },
    });
  } finally {
    await close();
    await receiver.close();
    await emulator.close();
  }
}

/** `200 accepted` and `400 invalid_json` are ours, `400` is not. */
function nameOf(status: number, answer: string): string {
  const ours = /^\{"(?:status":"(\w+)","id"|type":"about:blank",.*"code":"(\w+)")/.exec(answer);
  return `${status} ${ours?.[1] ?? ours?.[2] ?? ""}`.trim();
}

describe.concurrent.each(parserHosts.map((host) => [host.name, host] as const))(
  "%s",
  (_name, host) => {
    test.each(Object.entries(table))("a receiver answers %s as the table says", (_what, row) =>
      behind(host, async ({ post }) => {
        const instead = host.parser === null ? undefined : row.instead?.[host.parser];
        const expected = instead?.replace(/ of the (parser|app)$/, "") ?? row.ours;
        expect(await post({ signature: row.signature ?? "valid" }, row)).toBe(expected);
      }),
    );

    test("a receiver keeps the bytes, or the value that a parser made of them", () =>
      behind(host, async ({ post, entries, receiver }) => {
        await post();
        const [entry] = await entries();
        const kept = await receiver.inbox.get(entry?.id ?? "");
        const again = host.parser === "express.json()" || host.parser === "koa-body";
        expect(kept?.body).toBe(again ? complete.replace("1.0", "1") : complete);
      }));

    test("a receiver leaves a body that stops half-way to the parser that reads it", async () => {
      const plain = parserHosts.find(({ parser }) => parser === null) as ParserHost;
      const limits = { bodyMs: 1 };
      const head = `POST ${path} HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\nX-svc-authorization: none\r\nContent-Type: application/json\r\nContent-Length: ${complete.length}\r\n\r\n`;
      const half = head + complete.slice(0, 10);
      let arrived: Promise<unknown> = Promise.resolve();
      const watched: ParserHost = {
        ...host,
        serve(receiver) {
          const server = host.serve(receiver);
          arrived = once(server, "request");
          return server;
        },
      };
      const run = async ({ url }: Setup): Promise<void> => {
        const socket = connect(Number(new URL(url).port), "127.0.0.1");
        socket.write(half);
        const answer = text(socket);
        await arrived;
        await behind(
          plain,
          async (other) => expect(await raw(other.url, half)).toContain(" 408 "),
          {
            limits,
          },
        );
        socket.write(complete.slice(10));
        const ours = host.parser === null || host.parser === "express.urlencoded()";
        expect((await answer).split(" ")[1]).toBe(ours ? "408" : "200");
      };
      await behind(watched, run, { limits, client: { authorize: async () => "invalid" } });
    });
  },
);
