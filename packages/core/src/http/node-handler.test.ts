import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import {
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  createServer as createHttp2Server,
} from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { serve } from "@reporthook/test-support/service-calls";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Answer, BodyReading, Incoming } from "./incoming.ts";
import { type AlreadyParsed, bodyOf, incomingFromNode, nodeHandler, send } from "./node-handler.ts";

type Listener = (req: IncomingMessage, res: ServerResponse) => unknown;

/** A connection to a server with this listener. */
async function connected(listener: Listener): Promise<Socket> {
  const { port } = new URL(await serve((req, res) => void listener(req, res)));
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  return socket.setEncoding("utf8");
}

const post = (length: number | string, path = "/hook") =>
  `POST ${path} HTTP/1.1\r\nHost: app.example\r\nContent-Length: ${length}\r\n\r\n`;

/** Looks at a request before the handler does; resolves to the request as it leaves it. */
type Ahead = (req: IncomingMessage) => Promise<AlreadyParsed>;

/** How a request is read whose bytes are sent like this. */
async function reading(sent: readonly string[], ahead?: Ahead) {
  let reached = (_: { req: IncomingMessage; reading: BodyReading }): void => {};
  const arrived = new Promise<{ req: IncomingMessage; reading: BodyReading }>((resolve) => {
    reached = resolve;
  });
  const socket = await connected(async (req) => {
    const parsed = (await ahead?.(req)) ?? { url: "/" };
    reached({ req, reading: incomingFromNode(req, parsed).readBody(10) });
  });
  // A parser ahead waits for the whole body.
  const [head = "", ...rest] = ahead === undefined ? sent : [sent.join("")];
  socket.write(head);
  const { req, reading: begun } = await arrived;
  for (const piece of rest) {
    socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { socket, req, ...begun };
}

async function textOf(result: BodyReading["result"]): Promise<string> {
  const body = await result;
  return typeof body === "string" ? `failed: ${body}` : new TextDecoder().decode(body);
}

const raw = new TextEncoder().encode(" raw1");

/** Reads the stream to its end, as a parser does, and leaves this on the request. */
const parser =
  (kept: object = {}): Ahead =>
  async (req) => {
    for await (const _ of req);
    return { url: "/", ...kept };
  };

/** Wants the stream as text. */
const decoder =
  (encoding: BufferEncoding): Ahead =>
  async (req) => {
    req.setEncoding(encoding);
    return { url: "/" };
  };

describe("requests", () => {
  it.each([
    ["http://app.example/hook?to=http://a/b", "/hook?to=http://a/b"],
    ["HTTPS://user:word@app.example:1?a=1", "/?a=1"],
    ["http://app.example", "/"],
    ["hook", "hook"],
  ])("incomingFromNode() takes path and query from the address %s", (url, path) => {
    const req = { method: "POST", headers: {} } as IncomingMessage;
    expect(incomingFromNode(req, { url }).url).toBe(path);
  });

  it("incomingFromNode() reads no further than the limit", async () => {
    const { req, result } = await reading([post(40), "0123456789", "0123456789"]);
    expect(await textOf(result)).toBe("failed: too_large");
    expect(req.isPaused()).toBe(true);
    expect([req.listenerCount("data"), req.listenerCount("end")]).toEqual([0, 0]);
  });

  it.each([
    ["größe", "größe"],
    ["größer als 10", "failed: too_large"],
  ])("incomingFromNode() counts bytes of %s when text is wanted", async (text, result) => {
    const read = await reading([post(Buffer.byteLength(text)), text], decoder("utf8"));
    expect(await textOf(read.result)).toBe(result);
  });

  it("incomingFromNode() fails as cut_off when a sender hangs up", async () => {
    const { socket, result } = await reading([post(10), "0123"]);
    socket.destroy();
    expect(await textOf(result)).toBe("failed: cut_off");
  });

  it("incomingFromNode() fails as cut_off when a sender hung up before", async () => {
    const ahead = async (req: IncomingMessage) => {
      req.on("error", () => {});
      req.destroy();
      await once(req, "close");
      return { url: "/" };
    };
    expect(await textOf((await reading([post(10)], ahead)).result)).toBe("failed: cut_off");
  });

  it("incomingFromNode() waits for the end of a body that something ahead still collects", async () => {
    const kept = { url: "/", rawBody: "" };
    const { socket, result } = await reading([post(4)], async (req) => {
      req.setEncoding("utf8").on("data", (chunk: string) => {
        kept.rawBody += chunk;
      });
      return kept;
    });
    socket.write("01");
    await new Promise((resolve) => setImmediate(resolve));
    socket.write("23");
    expect(await textOf(result)).toBe("0123");
  });

  it("incomingFromNode() reads the stream where the value left on the request can't be looked at", async () => {
    const throws = (): never => {
      throw new Error("no look at the body");
    };
    const ahead = async () =>
      Object.defineProperties({ url: "/" }, { body: { get: throws }, rawBody: { get: throws } });
    expect(await textOf((await reading([post(4), "0123"], ahead)).result)).toBe("0123");
  });

  it("incomingFromNode() stops when it is told to", async () => {
    const { req, result, stop } = await reading([post(10), "0123"]);
    stop();
    expect(await textOf(result)).toBe("failed: cut_off");
    expect(req.isPaused()).toBe(true);
  });

  it("incomingFromNode() has an empty body once something ahead has met its end", async () => {
    expect(await textOf((await reading([post(0)], parser())).result)).toBe("");
  });

  it.each<[what: string, kept: Omit<AlreadyParsed, "url">, expected: string]>([
    ["the raw text before the parsed body", { rawBody: "raü", body: { a: 1 } }, "raü"],
    ["the raw bytes", { rawBody: Buffer.from("raw1"), body: "text" }, "raw1"],
    ["an ArrayBuffer", { rawBody: raw.slice(1).buffer, body: {} }, "raw1"],
    ["a view of one", { rawBody: new DataView(raw.buffer, 1), body: {} }, "raw1"],
    ["what it was parsed to where the raw is cut", { rawBody: "raw", body: { a: 1 } }, '{"a":1}'],
    ["nothing, when the raw is cut", { rawBody: "raw" }, "failed: unavailable"],
    ["what it was parsed to", { body: { a: 1 } }, '{"a":1}'],
    ["its text, whatever is no raw body", { rawBody: true, body: "text" }, "text"],
    ["nothing, when nothing was kept", {}, "failed: unavailable"],
    ["nothing that is a function", { body: () => "text" }, "failed: unavailable"],
    ["nothing that is no JSON", { body: { toJSON: () => undefined } }, "failed: unavailable"],
    ["nothing that can't be written", { body: { a: 1n } }, "failed: unavailable"],
    ["nothing over the limit", { body: "01234567890" }, "failed: too_large"],
  ])("incomingFromNode() takes from a parser ahead: %s", async (_, kept, expected) => {
    const { result } = await reading([post(4), "0123"], parser(kept));
    expect(await textOf(result)).toBe(expected);
  });

  const chunked =
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n0\r\n\r\n";
  const gzipped =
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n0123";

  it.each<[what: string, sent: string, kept: Omit<AlreadyParsed, "url">, expected: string]>([
    ["a raw body of unknown length", chunked, { rawBody: "raw" }, "raw"],
    ["a raw body that was unpacked", gzipped, { rawBody: "raw" }, "raw"],
    ["no raw body over the limit", chunked, { rawBody: "01234567890" }, "failed: too_large"],
    ["no {} of a parser that skipped it", chunked, { body: {} }, "failed: unavailable"],
    ["no {} of another length", `${post(4)}0123`, { body: {} }, "failed: unavailable"],
    ["an object without keys", `${post(2)}{}`, { body: {} }, "{}"],
  ])("incomingFromNode() takes %s once the stream was read", async (_, sent, kept, expected) => {
    expect(await textOf((await reading([sent], parser(kept))).result)).toBe(expected);
  });

  it("incomingFromNode() takes raw bytes also where the stream was not read, unless they are empty or of another length", async () => {
    const kept = async (rawBody: unknown) => {
      const ahead = async () => ({ url: "/", rawBody });
      return textOf((await reading([post(4), "0123"], ahead)).result);
    };
    expect(await kept("raw1")).toBe("raw1");
    for (const none of ["", Buffer.alloc(0), "raw"]) expect(await kept(none)).toBe("0123");
  });

  it("incomingFromNode() reads a body that something ahead has looked at and put back", async () => {
    const ahead = async (req: IncomingMessage) => {
      await once(req, "readable");
      req.unshift(req.read());
      return { url: "/" };
    };
    expect(await textOf((await reading([post(4), "0123"], ahead)).result)).toBe("0123");
  });

  it("incomingFromNode() reads text in the encoding that something ahead wants", async () => {
    const { result } = await reading([post(6), "größ"], decoder("latin1"));
    expect(await textOf(result)).toBe("größ");
  });

  it.each(["base64", "hex", "utf16le"] as const)("a body in %s is refused", async (encoding) => {
    const { result } = await reading([post(6), "größ"], decoder(encoding));
    expect(await result).toBe("unavailable");
  });
});

const accepted: Answer = { status: 200, headers: { "X-A": "1" }, body: '{"ü":1}' };
const refused: Answer = { ...accepted, status: 413, headers: { Connection: "close" } };

describe("answers", () => {
  it("send() writes nothing where something was sent already, or nobody listens", async () => {
    const socket = await connected((req, res) => {
      res.end("first");
      send(req, res, accepted);
    });
    socket.write(post(0));
    const [text] = await once(socket, "data");
    expect(text).toMatch(/first$/);
    const sent = new Promise<boolean>((resolve) => {
      void connected((req, res) => {
        res.destroy();
        send(req, res, accepted);
        resolve(res.headersSent);
      }).then((other) => other.write(post(0)));
    });
    expect(await sent).toBe(false);
  });

  it("send() lets a sender whose connection ends read the answer, and ends when it has sent all", async () => {
    const socket = await connected((req, res) => send(req, res, refused));
    socket.write(`${post(20)}0123456789`);
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    const ended = once(socket, "end");
    while (!text.endsWith('{"ü":1}')) await once(socket, "data");
    socket.write("0123456789");
    await ended;
    expect(text).toMatch(/^HTTP\/1\.1 413 .*\r\nConnection: close\r\nContent-Length: 8\r\n/);
  });

  it("send() waits a limited time for a sender that goes on", async () => {
    const socket = await connected((req, res) => send(req, res, refused));
    socket.write(`${post(20)}0123456789`);
    socket.resume();
    await once(socket, "end");
  });
});

it("send() ends the connection where something ahead has made the response throw, and tells the server", async () => {
  const error = new Error("writeHead of something ahead");
  const told: unknown[] = [];
  const socket = await connected((req, res) => {
    (req.socket as unknown as { server: Server }).server.on("clientError", (e) => told.push(e));
    res.writeHead = () => {
      throw error;
    };
    send(req, res, accepted);
  });
  const closed = once(socket, "close");
  socket.resume().write(post(0));
  await closed;
  expect(socket.bytesRead).toBe(0);
  expect(told).toEqual([error]);
});

describe("bodies of answers", () => {
  it.each([
    ["the text when the connection stays", post(10), accepted, false],
    ["the text when all has come", post(0), refused, false],
    ["a stream when the connection ends before", post(10), refused, true],
  ])("bodyOf() is %s", async (_, head, answer, isStream) => {
    const body = new Promise((resolve) => {
      void connected((req, res) => {
        req.resume();
        req.once(answer === refused && !isStream ? "end" : "resume", () => {
          const made = bodyOf(req, answer);
          res.end();
          resolve(made);
        });
      }).then((socket) => socket.write(head));
    });
    expect((await body) instanceof Readable).toBe(isStream);
  });
});

describe("HTTP/2", () => {
  async function overHttp2(use: (stream: ClientHttp2Stream) => void, answered?: () => void) {
    const results: (string | Uint8Array)[] = [];
    const mount = () => async (incoming: Incoming) => {
      results.push(await incoming.readBody(100).result);
      expect(incoming.multiplexed).toBe(true);
      return { status: 200, headers: {}, body: "" };
    };
    const handled = new Promise<void>((resolve) => {
      const handler = nodeHandler({ mount } as never);
      const server = createHttp2Server((req, res) => void handler(req, res).then(resolve));
      onTestFinished(() => void server.close());
      server.listen(0, "127.0.0.1", () => {
        const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
        onTestFinished(() => session.destroy());
        const stream = session.request({ ":method": "POST", ":path": "/hook" });
        stream.on("error", () => {});
        stream.on("response", () => answered?.());
        use(stream);
      });
    });
    await handled;
    return results;
  }

  it("nodeHandler() takes a body that was reset over HTTP/2 for cut off, not for whole", async () => {
    const results = await overHttp2((stream) => {
      stream.write("half");
      setImmediate(() => stream.close(constants.NGHTTP2_CANCEL));
    });
    expect(results).toEqual(["cut_off"]);
  });
});
