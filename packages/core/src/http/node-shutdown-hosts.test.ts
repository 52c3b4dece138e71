import { once } from "node:events";
import { createServer, Agent as HttpAgent, type RequestOptions, request } from "node:http";
import { createSecureServer } from "node:http2";
import { createServer as createHttpsServer, Agent as HttpsAgent } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import { join } from "node:path";
import { setUp, turnUntil } from "@reporthook/test-support/receiver-setup";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { untrusted } from "@reporthook/test-support/untrusted";
import { expect, it, onTestFinished } from "vitest";
import { nodeHandler } from "./node-handler.ts";
import { shutdown } from "./node-shutdown.ts";

type Handler = ReturnType<typeof nodeHandler>;

const report = '{"event_type":"report_status","status":"complete","report_id":"r-1"}';

/** Where a server listens, as its client has to know it. */
async function listen(server: Server, path?: string): Promise<RequestOptions> {
  if (path === undefined) server.listen(0, "127.0.0.1");
  else server.listen(path);
  await once(server, "listening");
  if (path !== undefined) return { socketPath: path };
  const { port } = server.address() as AddressInfo;
  return { host: "127.0.0.1", port };
}

const overTls = { protocol: "https:" };
const hosts: Record<string, (handler: Handler) => readonly [Server, RequestOptions, string?]> = {
  "node:https": (handler) => [createHttpsServer(untrusted, handler), overTls],
  "node:http2 that allows HTTP/1": (handler) => [
    createSecureServer({ ...untrusted, allowHTTP1: true }, handler),
    overTls,
  ],
  "a Unix socket": (handler) => {
    const folder = temporaryFolder();
    return [createServer(handler), {}, join(folder, "socket")];
  },
};

it.each(Object.entries(hosts))(
  "shutdown() lets a kept connection ask once more, and ends it: %s",
  async (_, makeServer) => {
    const { receiver } = setUp({ client: { authorize: async () => "valid" } });
    const [server, options, path] = makeServer(nodeHandler(receiver));
    const kept = { keepAlive: true, maxSockets: 1 };
    const isSecure = options.protocol === "https:";
    const agent = isSecure
      ? new HttpsAgent({ ...kept, rejectUnauthorized: false })
      : new HttpAgent(kept);
    onTestFinished(() => {
      agent.destroy();
      server.close();
    });
    const place = { ...options, ...(await listen(server, path)), agent };
    const sockets = new Set<Socket>();
    const ask = async (signature: string): Promise<string> => {
      const headers = { "content-type": "application/json", "x-svc-authorization": signature };
      const sent = request({ ...place, method: "POST", headers });
      sent.once("socket", (socket) => sockets.add(socket)).end(report);
      const [response] = await once(sent, "response");
      await once(response.resume(), "end");
      return `${response.statusCode} ${response.headers.connection}`;
    };
    expect(await ask("valid-1")).toBe("200 keep-alive");
    const closed = shutdown(server, receiver);
    await turnUntil(() => !server.listening);
    expect(await ask("valid-2")).toBe("200 close");
    await closed;
    expect(sockets.size).toBe(1);
  },
);
