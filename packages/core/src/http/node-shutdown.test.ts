import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  createServer as createHttp2Server,
  type Http2Server,
} from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { listenLocally } from "@reporthook/test-support/listening";
import { gate, hasSettled, setUp, turns, turnUntil } from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { nodeHandler } from "./node-handler.ts";
import { shutdown } from "./node-shutdown.ts";

const path = "/hook";
const report = '{"event_type":"report_status","status":"complete","report_id":"r-1"}';
let sent = 0;

/** A report as bytes, with a signature that nothing else has. */
function notification(signature = `valid-${sent++}`): string {
  const head = `POST ${path} HTTP/1.1\r\nHost: app\r\nContent-Type: application/json`;
  return `${head}\r\nX-svc-authorization: ${signature}\r\nContent-Length: ${report.length}\r\n\r\n${report}`;
}

const other = "GET /other HTTP/1.1\r\nHost: app\r\n\r\n";

/** A connection, with the answers that came on it: the status of each, and whether it says that the connection ends. */
class Sender {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  #text = "";

  constructor(server: Server) {
    this.socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    this.socket.setEncoding("utf8").on("data", (chunk) => {
      this.#text += chunk;
    });
    this.socket.on("error", () => {});
    this.closed = new Promise((resolve) => this.socket.once("close", resolve));
    onTestFinished(() => void this.socket.destroy());
  }

  get answers(): string[] {
    const found = this.#text.matchAll(/HTTP\/1\.1 (\d+)[\s\S]*?Connection: ([\w-]+)/g);
    return [...found].map(([, status, connection]) => `${status} ${connection}`);
  }

  /** Sends text and waits for this many answers in all. */
  async ask(text: string, answers = this.answers.length + 1): Promise<void> {
    this.socket.write(text);
    await turnUntil(() => this.answers.length === answers);
  }
}

const valid = { authorize: async () => "valid" as const };

/** A receiver in a server that has another route, too. */
async function serve(
  options: Parameters<typeof setUp>[0] = {},
  route: RequestListener = (_, res) => res.end("another route"),
) {
  const authorize = async (signature: string) =>
    signature.startsWith("valid") ? ("valid" as const) : ("invalid" as const);
  const made = setUp({ client: { authorize }, ...options }, "runs");
  made.seeAll();
  const handler = nodeHandler(made.receiver);
  const server = createServer((req, res) => {
    if (req.url === path) void handler(req, res);
    else route(req, res);
  });
  server.keepAliveTimeout = 60_000;
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { ...made, server };
}

describe("a closed server", () => {
  it("close() on a closed server has all answered that is half sent, then ends the connection", async () => {
    const { receiver, server, seen } = await serve();
    const sender = new Sender(server);
    await sender.ask(notification());
    const next = notification();
    sender.socket.write(next.slice(0, 30));
    await turnUntil(() => sender.socket.bytesWritten === notification().length + 30);
    await new Sender(server).ask(other);
    server.close();
    const closed = receiver.close();
    sender.socket.write(next.slice(30) + notification() + notification());
    await sender.closed;
    expect(sender.answers).toEqual([
      "200 keep-alive",
      "200 keep-alive",
      "200 keep-alive",
      "200 close",
    ]);
    await closed;
    expect(seen).toHaveLength(4);
  });

  it("close() on a closed server has the answers of other routes end their connections", async () => {
    const finish = gate();
    const { receiver, server, seen } = await serve();
    receiver.on("*", () => finish.opened);
    const [sender, visitor] = [new Sender(server), new Sender(server)];
    await sender.ask(notification());
    await visitor.ask(other);
    visitor.socket.write(other.slice(0, 10));
    await turnUntil(() => visitor.socket.bytesWritten === other.length + 10);
    await turnUntil(() => seen.length === 1);
    await new Sender(server).ask(other);
    const closed = receiver.close();
    server.close();
    visitor.socket.write(other.slice(10));
    await visitor.closed;
    expect(visitor.answers).toEqual(["200 keep-alive", "200 close"]);
    finish.open();
    await closed;
  });

  it("close() on a closed server waits 5 seconds for a connection that has delivered, and for others not at all", async () => {
    const clock = manualClock();
    const { receiver, server } = await serve({ clock });
    const [sender, stranger] = [new Sender(server), new Sender(server)];
    await stranger.ask(notification("forged").replace("POST", "PUT"));
    stranger.socket.write("POST /hook HT");
    await sender.ask(notification());
    await turnUntil(async () => (await receiver.inbox.counts()).handled === 1);
    clock.advance(1_000);
    sender.socket.write("POST /hook HT");
    await new Sender(server).ask(other);
    server.close();
    const closed = receiver.close();
    clock.advance(3_999);
    expect(await hasSettled(closed)).toBe(false);
    clock.advance(1);
    await closed;
    expect([sender.socket.destroyed, stranger.socket.destroyed]).toEqual([false, false]);
  });
});

describe("another route", () => {
  it("close() leaves other routes their kept connections when the server goes on listening", async () => {
    const { receiver, server } = await serve();
    const [sender, visitor] = [new Sender(server), new Sender(server)];
    await sender.ask(notification());
    await receiver.close();
    await visitor.ask(other);
    await visitor.ask(other);
    expect(visitor.answers).toEqual(["200 keep-alive", "200 keep-alive"]);
  });

  it("close() on a closed server has another route answer all that came together on a connection", async () => {
    const answers: (() => void)[] = [];
    const { receiver, server } = await serve({}, (_, res) => {
      answers.push(() => res.end("another route"));
    });
    const visitor = new Sender(server);
    await once(server, "connection");
    const sender = new Sender(server);
    await sender.ask(notification());
    server.close();
    const closed = receiver.close();
    visitor.socket.write(other + other + other);
    await turnUntil(() => answers.length === 3);
    for (const answer of answers) answer();
    await visitor.closed;
    expect(visitor.answers).toEqual(["200 keep-alive", "200 keep-alive", "200 close"]);
    sender.socket.destroy();
    await closed;
  });

  it("shutdown() has another route's answer end its session of HTTP/2", async () => {
    const { receiver } = setUp({ client: valid }, "runs");
    const server = createHttp2Server((_, res) => res.end("another route"));
    const session = await connectTo(server);
    const status = () =>
      once(session.request().resume(), "response").then(([all]) => all[":status"]);
    expect(await status()).toBe(200);
    const closed = shutdown(server, receiver);
    await turnUntil(() => !server.listening);
    expect(session.closed).toBe(false);
    expect(await status()).toBe(200);
    expect(session.closed).toBe(true);
    await closed;
  });

  it("shutdown() ends the sessions of a server of HTTP/2 that knows streams alone, and makes no requests of these", async () => {
    const { receiver } = setUp({ client: valid }, "runs");
    const server = createHttp2Server().on("stream", (stream) => stream.end("another route"));
    const session = await connectTo(server);
    const closed = shutdown(server, receiver);
    await turnUntil(() => !server.listening);
    await once(session.request().resume(), "end");
    expect(session.closed).toBe(true);
    expect(server.listenerCount("request")).toBe(0);
    await closed;
  });
});

describe("shutting down", () => {
  it("shutdown() lets kept connections ask once more, and ends those that do not after 5 seconds", async () => {
    const { receiver, server, seen } = await serve();
    const [sender, first, visitor, idle] = [1, 2, 3, 4].map(() => new Sender(server));
    await sender?.ask(notification());
    for (const one of [first, visitor, idle]) await one?.ask(other);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const closed = shutdown(server, receiver);
    await turnUntil(() => !server.listening);
    for (const one of [sender, first]) one?.socket.write(notification() + notification());
    visitor?.socket.write(other);
    await Promise.all([sender?.closed, first?.closed, visitor?.closed]);
    expect(sender?.answers).toEqual(["200 keep-alive", "200 keep-alive", "200 close"]);
    expect(first?.answers).toEqual(["200 keep-alive", "200 keep-alive", "200 close"]);
    expect(visitor?.answers).toEqual(["200 keep-alive", "200 close"]);
    vi.advanceTimersByTime(4_999);
    expect(await hasSettled(closed)).toBe(false);
    vi.advanceTimersByTime(1);
    await closed;
    expect(seen).toHaveLength(5);
    await idle?.closed;
    expect(idle?.answers).toEqual(["200 keep-alive"]);
  });

  it("shutdown() has all answered that is sent behind a notification, by another receiver or route, too", async () => {
    const { receiver: second } = setUp({ name: "second", client: valid }, "runs");
    const secondHandler = nodeHandler(second);
    const { receiver, server } = await serve({}, (req, res) =>
      req.url === "/second" ? secondHandler(req, res) : res.end("another route"),
    );
    const [sender, visitor] = [new Sender(server), new Sender(server)];
    for (const one of [sender, visitor]) await one.ask(notification());
    const toSecond = notification().replace(path, "/second");
    const closed = [shutdown(server, receiver), shutdown(server, second)];
    await turnUntil(() => !server.listening);
    sender.socket.write(notification() + toSecond);
    visitor.socket.write(toSecond + notification() + other);
    await Promise.all([sender.closed, visitor.closed]);
    await Promise.all(closed);
    expect(sender.answers.slice(1)).toEqual(["200 keep-alive", "200 close"]);
    expect(visitor.answers.slice(1)).toEqual(["200 keep-alive", "200 keep-alive", "200 close"]);
  });

  it("shutdown() resolves as soon as the last connection has ended", async () => {
    const { receiver, server } = await serve();
    const sender = new Sender(server);
    await sender.ask(notification());
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const closed = shutdown(server, receiver);
    sender.socket.end();
    await closed;
  });

  it("shutdown() tells a request that runs already that its connection ends", async () => {
    const answered = gate();
    const authorize = vi.fn(() => answered.opened.then(() => "valid" as const));
    const { receiver, server } = await serve({ client: { authorize }, verify: "before-ack" });
    const sender = new Sender(server);
    sender.socket.write(notification());
    await turnUntil(() => authorize.mock.calls.length === 1);
    const closed = shutdown(server, receiver);
    answered.open();
    await sender.closed;
    expect(sender.answers).toEqual(["200 close"]);
    await closed;
  });

  it("shutdown() has requests answered on connections that wait to be accepted", async () => {
    const { receiver, server } = await serve();
    const senders = Array.from({ length: 20 }, () => new Sender(server));
    for (const { socket } of senders) socket.write(notification());
    // The system has connected all of them, and Node accepts one in a turn.
    await turns(1);
    const closed = shutdown(server, receiver);
    await Promise.all(senders.map((sender) => sender.closed));
    expect(senders.flatMap(({ answers }) => answers)).toEqual(senders.map(() => "200 close"));
    await closed;
  });

  it.each(["", "POST /hook HTTP/1.1\r\nHost: app\r\n"])(
    "shutdown() ends at its timeout a connection that has sent only %j",
    async (begun) => {
      const { receiver, server } = await serve();
      const sender = new Sender(server);
      sender.socket.write(begun);
      await once(server, "connection");
      await shutdown(server, receiver, { timeoutMs: 100 });
      await sender.closed;
    },
  );

  it.each([Number.POSITIVE_INFINITY, 3_000_000_000])(
    "shutdown() waits for what is half sent with a timeout of %d ms, which no timer has",
    async (timeoutMs) => {
      const { receiver, server } = await serve();
      const sender = new Sender(server);
      const half = notification();
      sender.socket.write(half.slice(0, 30));
      await once(server, "connection");
      const closed = shutdown(server, receiver, { timeoutMs });
      // Node has a timer for longer fire after 1 ms.
      await new Promise((resolve) => setTimeout(resolve, 2));
      await sender.ask(half.slice(30), 1);
      expect(sender.answers).toEqual(["200 close"]);
      await closed;
    },
  );

  it("shutdown() ends a session of HTTP/2 once its requests are answered, and refuses none that it has taken", async () => {
    const { receiver, server, session, seen } = await serveHttp2();
    const first = begin(session, "valid-1");
    first.stream.end(report);
    expect(await first.status).toBe(200);
    const second = begin(session, "valid-2");
    second.stream.write(report.slice(0, 10));
    const pinged = new Promise<void>((resolve) => session.ping(() => resolve()));
    await pinged;
    const closed = shutdown(server, receiver);
    await once(session, "goaway");
    second.stream.end(report.slice(10));
    expect(await second.status).toBe(200);
    await closed;
    expect(seen).toHaveLength(2);
  });

  it.each([
    [408, "{", { bodyMs: 50 }],
    [413, `{${"x".repeat(300_000)}`, {}],
  ] as const)(
    "shutdown() ends a session of HTTP/2 whose sender was refused with %s and did not end its request",
    async (refused, body, limits) => {
      const { receiver, server, session } = await serveHttp2({ limits });
      const { stream, status } = begin(session, "valid");
      stream.on("error", () => {});
      stream.write(body);
      expect(await status).toBe(refused);
      const closed = new Promise((resolve) => server.once("close", resolve));
      await shutdown(server, receiver);
      await closed;
    },
  );

  it("shutdown() breaks a session of HTTP/2 on which another route stays open, once the receiver is closed", async () => {
    const { receiver } = setUp({ client: valid }, "runs");
    const handler = nodeHandler(receiver);
    const server = createHttp2Server((req, res) => {
      if (req.url === path) void handler(req, res);
    });
    const session = await connectTo(server);
    session.on("error", () => {});
    session.request({ ":path": "/stays" }).on("error", () => {});
    const { stream, status } = begin(session, "valid");
    stream.end(report);
    expect(await status).toBe(200);
    const closed = once(session, "close");
    await shutdown(server, receiver, { timeoutMs: 100 });
    await closed;
  });

  it("shutdown() ends the connection of a session of HTTP/2 whose sender stands still", async () => {
    const { receiver } = setUp({ client: valid }, "runs");
    const server = createHttp2Server(nodeHandler(receiver));
    const address = await listenLocally(server);
    const sending = `
      const session = require("node:http2").connect("${address}");
      const headers = { ":path": "${path}", ":method": "POST", "content-type": "application/json", "x-svc-authorization": "valid" };
      session.request(headers).on("response", ({ ":status": status }) => console.log(status)).end('${report}');
    `;
    const sender = spawn(process.execPath, ["-e", sending]);
    onTestFinished(() => void sender.kill("SIGKILL"));
    expect(String(await once(sender.stdout, "data"))).toBe("200\n");
    sender.kill("SIGSTOP");
    const closed = once(server, "close");
    await shutdown(server, receiver, { timeoutMs: 100 });
    await closed;
  });

  it("shutdown() closes each of several receivers on a server, which answers for those that are still open", async () => {
    const { receiver, server } = await serve();
    const sender = new Sender(server);
    await sender.ask(notification());
    const { receiver: second } = setUp({ name: "second" }, "runs");
    const closed = [
      shutdown(server, second),
      shutdown(server, receiver),
      shutdown(server, receiver),
    ];
    await sender.ask(notification());
    await Promise.all(closed);
    expect(sender.answers).toEqual(["200 keep-alive", "200 close"]);
  });

  it("shutdown() adds listeners to a connection for many receivers without a warning of a leak", async () => {
    const warned = vi.fn();
    process.on("warning", warned);
    onTestFinished(() => void process.off("warning", warned));
    const receivers = Array.from(
      { length: 12 },
      (_, index) => setUp({ name: `of-${index}` }, "runs").receiver,
    );
    const handlers = receivers.map((receiver) => nodeHandler(receiver));
    const server = createServer((req, res) => void handlers[Number(req.url?.slice(1))]?.(req, res));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const sender = new Sender(server);
    for (const index of handlers.keys())
      await sender.ask(notification().replace(path, `/${index}`));
    sender.socket.destroy();
    await Promise.all(receivers.map((receiver) => shutdown(server, receiver)));
    expect(warned).not.toHaveBeenCalled();
  });

  it("shutdown() closes the receiver of a server that has never listened, or is closed", async () => {
    const { receiver } = setUp({}, "runs");
    await shutdown(createServer(), receiver);
    expect((await receiver.health()).ready).toBe(false);
    const { receiver: second, server } = await serve({ name: "second" });
    server.close();
    await shutdown(server, second);
    expect((await second.health()).ready).toBe(false);
  });

  it("shutdown() rejects as close() does", async () => {
    const close = (): Promise<never> => Promise.reject(new Error("the disk is full"));
    const inbox = Object.assign(memoryInbox(), { close });
    const { receiver, server } = await serve({ inbox });
    await expect(shutdown(server, receiver)).rejects.toThrow("Error: the disk is full");
  });

  it.each([
    ["an app", (() => {}) as unknown, "the server must be what app.listen()"],
    ["a promise of a server", Promise.resolve(), "not an object: write shutdown(server, receiver)"],
    ["nothing", undefined, "not undefined"],
  ])("shutdown() refuses %s in place of a server", async (_, given, said) => {
    const { receiver } = setUp({}, "runs");
    await expect(shutdown(given as Server, receiver)).rejects.toThrow(said);
    expect((await receiver.health()).ready).toBe(true);
  });

  it("shutdown() refuses a wrong receiver, option or time before it stops anything", async () => {
    const { receiver, server } = await serve();
    const refused = expect(shutdown(server, server as never)).rejects;
    await refused.toThrow("the receiver must be what createReceiver() returned");
    const late = shutdown(server, receiver, { timeoutMs: Number.NaN });
    await expect(late).rejects.toThrow("shutdown: timeoutMs must be milliseconds from 0, not NaN");
    const other = shutdown(server, receiver, { timeout: 5_000 } as object);
    await expect(other).rejects.toThrow("shutdown: timeout is no option; these are: timeoutMs");
    expect(server.listening).toBe(true);
  });
});

/** A session of HTTP/2 on a server that begins to listen. */
async function connectTo(server: Http2Server): Promise<ClientHttp2Session> {
  const session = connectHttp2(await listenLocally(server));
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  await once(session, "connect");
  return session;
}

/** A receiver on a server of HTTP/2, and a session with it. */
async function serveHttp2(options: Parameters<typeof setUp>[0] = {}) {
  const made = setUp({ client: valid, ...options }, "runs");
  made.seeAll();
  const server = createHttp2Server(nodeHandler(made.receiver));
  return { ...made, server, session: await connectTo(server) };
}

/** Begins a request of HTTP/2. */
function begin(session: ClientHttp2Session, signature: string) {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/json",
    "x-svc-authorization": signature,
  });
  stream.resume();
  return { stream, status: once(stream, "response").then(([headers]) => headers[":status"]) };
}
