import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { listenLocally } from "@reporthook/test-support/listening";
import { Request as NodeFetchRequest } from "node-fetch";
import { describe, expect, it, onTestFinished } from "vitest";
import { incomingFromRequest } from "./fetch.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const address = "https://app.example/hook";

/** A request whose body comes in these pieces, or breaks off after them. */
function requestOf(
  pieces: readonly string[],
  options: { headers?: Record<string, string>; breaks?: boolean } = {},
) {
  let cancelled = false;
  const rest = [...pieces];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = rest.shift();
      if (piece !== undefined) controller.enqueue(bytes(piece));
      else if (options.breaks) controller.error(new Error("hung up"));
      else controller.close();
    },
    cancel() {
      cancelled = true;
    },
  });
  return { request: posting(body, options.headers), isCancelled: () => cancelled };
}

/** A request with this body. */
const posting = (body: ReadableStream, headers: Record<string, string> = {}): Request =>
  new Request(address, { method: "POST", body, headers, duplex: "half" } as RequestInit);

function bodiless(headers: Record<string, string>): Request {
  return new Request(address, { method: "POST", headers });
}

/** A request as a server of Node shows it, whose body is sent once it is read. */
async function nodeRequest(body: string): Promise<IncomingMessage> {
  const server = createServer();
  const sent = request(await listenLocally(server), { method: "POST" });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  sent.on("error", () => {}).end(body);
  const [req] = await once(server, "request");
  return req;
}

/** The result of reading it: text, or the reason why there is none. */
async function read(request: Request, limit: number, kept?: () => Promise<ArrayBuffer>) {
  const result = await incomingFromRequest(request, kept).readBody(limit).result;
  return typeof result === "string" ? { failed: result } : new TextDecoder().decode(result);
}

describe("requests", () => {
  it.each([
    ["https://app.example", "/"],
    ["http://app.example:3000/a/b?c=/d&e=%20", "/a/b?c=/d&e=%20"],
    ["https://app.example/a?b#c/d", "/a?b"],
    ["https://app.example/#c", "/"],
  ])("incomingFromRequest() has path and query of %s", (url, expected) => {
    expect(incomingFromRequest(new Request(url)).url).toBe(expected);
  });

  it.each([
    ["nothing", []],
    ["one piece", ["0123456789"]],
    ["several", ["01", "", "234", "56789"]],
  ])("incomingFromRequest() reads %s to the end, announced or not", async (_, pieces) => {
    const text = pieces.join("");
    for (const headers of [{}, { "content-length": String(text.length) }]) {
      expect(await read(requestOf(pieces, { headers }).request, 10)).toBe(text);
    }
    expect(await read(new Request(address, { method: "POST" }), 10)).toBe("");
  });

  it("incomingFromRequest() stops at the limit, with any announced length", async () => {
    for (const announced of ["10", "11", "x"]) {
      const headers = { "content-length": announced };
      const { request } = requestOf(["0123", "456789", "0"], { headers });
      expect(await read(request, 10)).toEqual({ failed: "too_large" });
    }
    expect(await read(requestOf(["0123", "456789", "0"]).request, 10)).toEqual({
      failed: "too_large",
    });
  });

  it("incomingFromRequest() reads no further once it is stopped, and cancels nothing, as the answer would be lost", async () => {
    const { request, isCancelled } = requestOf(["0123", "4567"]);
    const reading = incomingFromRequest(request).readBody(10);
    reading.stop();
    expect(await reading.result).toBe("cut_off");
    expect(isCancelled()).toBe(false);
  });

  it.each<[what: string, pieces: readonly unknown[], expected: string | object]>([
    ["ArrayBuffers", [bytes("01").buffer, bytes("23").buffer], "0123"],
    ["one ArrayBuffer", [bytes("0123").buffer], "0123"],
    ["other views", [new DataView(bytes("0123").buffer, 1)], "123"],
    ["text", ["01", "ü"], "01ü"],
    ["text that is the name of a failure", ["too_large"], "too_large"],
    ["anything else", [{ a: 1 }], { failed: "unavailable" }],
  ])("incomingFromRequest() reads a stream of %s", async (_, pieces, expected) => {
    const body = new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece);
        controller.close();
      },
    });
    expect(await read(posting(body), 10)).toEqual(expected);
  });

  it("incomingFromRequest() reads requests whose body is no web stream", async () => {
    const nodeFetch = new NodeFetchRequest(address, { method: "POST", body: "0123" });
    expect(await read(nodeFetch as unknown as Request, 10)).toBe("0123");
    expect(await read(nodeFetch as unknown as Request, 10)).toEqual({ failed: "unavailable" });
    // As polyfills of browsers make them.
    const polyfill = (methods: Partial<Request>, length: string) => {
      const headers = new Headers({ "content-length": length });
      const made = { method: "POST", url: address, headers, bodyUsed: false, ...methods };
      return made as Request;
    };
    const noBytes = (): never => {
      throw new Error("could not read as ArrayBuffer");
    };
    for (const length of ["4", "10000"]) {
      const arrayBuffer = async () => bytes("{ü}").buffer;
      expect(await read(polyfill({ arrayBuffer }, "4"), 10)).toBe("{ü}");
      const onlyText = polyfill({ arrayBuffer: noBytes, text: async () => "null" }, length);
      expect(await read(onlyText, 10)).toBe("null");
    }
  });

  it("incomingFromRequest() stops at the limit when a host has unpacked the body, whose packed length was announced", async () => {
    let pulled = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (pulled++ < 1_000) controller.enqueue(new Uint8Array(10));
        else controller.close();
      },
    });
    const headers = { "content-encoding": "gzip", "content-length": "5" };
    expect(await read(posting(body, headers), 100)).toEqual({ failed: "too_large" });
    expect(pulled).toBeLessThan(20);
  });

  it("incomingFromRequest() fails as cut_off when a sender breaks off, announced or not", async () => {
    for (const headers of [{}, { "content-length": "8" }]) {
      const { request } = requestOf(["0123"], { headers, breaks: true });
      expect(await read(request, 10)).toEqual({ failed: "cut_off" });
    }
  });

  it("incomingFromRequest() takes the body that something ahead has read and kept, held to the limit", async () => {
    const kept = (text: string) => async () => bytes(text).buffer;
    const consumed = async () => {
      const { request } = requestOf(["0123"]);
      await request.text();
      return request;
    };
    expect(await read(await consumed(), 10, kept("0123456789"))).toBe("0123456789");
    expect(await read(await consumed(), 10, kept("01234567890"))).toEqual({ failed: "too_large" });
    expect(await read(await consumed(), 10)).toEqual({ failed: "unavailable" });
    const gone = () => Promise.reject(new Error("not kept"));
    expect(await read(await consumed(), 10, gone)).toEqual({ failed: "unavailable" });
  });

  it("incomingFromRequest() fails as unavailable when an announced body is empty", async () => {
    for (const headers of [{ "content-length": "4" }, { "transfer-encoding": "chunked" }]) {
      for (const { request } of [requestOf([], { headers }), { request: bodiless(headers) }]) {
        expect(await read(request, 10)).toEqual({ failed: "unavailable" });
      }
    }
  });

  it.each([
    ["a part of what was announced", '{"a":', {}, { failed: "cut_off" }],
    ["a part, not encoded", '{"a":', { "content-encoding": "identity" }, { failed: "cut_off" }],
    ["what the host has unpacked", '{"a":', { "content-encoding": "gzip" }, '{"a":'],
    ["what the host has written again", '{"a":1}', {}, '{"a":1}'],
  ])("incomingFromRequest() knows %s by its length", async (_, text, headers, expected) => {
    const announced = { "content-length": "9", ...headers };
    expect(await read(requestOf([text], { headers: announced }).request, 10)).toEqual(expected);
  });

  it("incomingFromRequest() takes the body that something ahead has left on the request of Node behind it", async () => {
    const left = async (ahead: (req: IncomingMessage) => unknown, host: "node" | "runtime") => {
      const req = await nodeRequest("0123");
      await ahead(req);
      const request = bodiless({ "content-length": "4" });
      const runtime = { node: { req } };
      const incoming =
        host === "node"
          ? incomingFromRequest(request, undefined, { node: req })
          : incomingFromRequest(Object.assign(request, { runtime }));
      const result = await incoming.readBody(10).result;
      return typeof result === "string" ? { failed: result } : new TextDecoder().decode(result);
    };
    for (const host of ["node", "runtime"] as const) {
      expect(await left(text, host)).toEqual({ failed: "unavailable" });
      const parse = async (req: IncomingMessage) => Object.assign(req, { body: [await text(req)] });
      expect(await left(parse, host)).toBe('["0123"]');
      const collect = (req: IncomingMessage) => {
        let rawBody = Buffer.alloc(0);
        Object.defineProperty(req, "rawBody", { get: () => rawBody });
        req.on("data", (chunk: Buffer) => {
          rawBody = Buffer.concat([rawBody, chunk]);
        });
      };
      expect(await left(collect, host)).toBe("0123");
      const collectAll = async (req: IncomingMessage) => {
        collect(req);
        await once(req, "end");
      };
      expect(await left(collectAll, host)).toBe("0123");
    }
  });

  it.each<[string, (body: ReadableStream | null) => unknown]>([
    ["holds the stream", (body) => body?.getReader()],
    ["has piped the stream away", (body) => body?.pipeTo(new WritableStream())],
  ])("incomingFromRequest() takes a kept body where something ahead %s", async (_, take) => {
    for (const headers of [{}, { "content-length": "4" }]) {
      const { request } = requestOf(["0123"], { headers });
      await take(request.body);
      expect(await read(request, 10, async () => bytes("kept").buffer)).toBe("kept");
      expect(await read(request, 10)).toEqual({ failed: "unavailable" });
    }
  });
});
