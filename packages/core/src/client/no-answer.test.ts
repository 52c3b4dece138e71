import { createServer as createHttp } from "node:http";
import { createServer as createHttps, Agent as NodeAgent } from "node:https";
import { createServer as createRaw } from "node:net";
import { listenLocally } from "@reporthook/test-support/listening";
import { answering, failures } from "@reporthook/test-support/service-calls";
import { untrusted } from "@reporthook/test-support/untrusted";
import { errors, ProxyAgent, fetch as undiciFetch } from "undici";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Fetch } from "./call-service.ts";

import { noAnswer } from "./no-answer.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** The global fetch through an agent. */
const through =
  (dispatcher: unknown): Fetch =>
  (url, init) =>
    fetch(url, { ...init, dispatcher } as RequestInit);

async function listening(server: Parameters<typeof listenLocally>[0]): Promise<string> {
  onTestFinished(() => void server.close());
  return await listenLocally(server);
}

async function closedPort(): Promise<string> {
  const server = createRaw();
  const url = await listenLocally(server);
  await new Promise((resolve) => server.close(resolve));
  return url;
}

/** A proxy that answers everything so. */
async function proxy(status: string): Promise<string> {
  const server = createHttp((request, response) => {
    request.resume();
    response.writeHead(Number(status.slice(0, 3))).end();
  });
  server.on("connect", (_, socket) =>
    socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`),
  );
  return await listening(server);
}

async function expectFailure(
  options: Parameters<typeof failures>[0],
  message: RegExp,
  rest: object,
): Promise<void> {
  for (const error of await failures(options)) {
    expect(error.message).toMatch(message);
    expect(error).toMatchObject({ code: "service_unreachable", ...rest });
  }
}

const never = { sent: false, retryable: false };
const later = { sent: false, retryable: true };

describe("a call that got no answer", () => {
  it("the error says that the certificate is not trusted", async () => {
    const baseUrl = (await listening(createHttps(untrusted))).replace("http:", "https:");
    await expectFailure({ baseUrl }, /certificate is not trusted: .* NODE_EXTRA_CA_CERTS/, never);
  });

  it("the error says that the address speaks no TLS", async () => {
    const baseUrl = (await answering(200)).replace("http:", "https:");
    await expectFailure({ baseUrl }, /does not speak TLS: .*http:/, never);
  });

  it("the error says that the connection was refused, and that a retry may help", async () => {
    await expectFailure({ baseUrl: await closedPort() }, /\(ECONNREFUSED\): .*refused/, later);
  });

  it("the error says that the name was not found", async () => {
    await expectFailure({ baseUrl: "http://nowhere.invalid" }, /name was not found: .*DNS/, later);
  });

  it("the error says that fetch refuses the port", async () => {
    await expectFailure(
      { baseUrl: "http://127.0.0.1:25" },
      /no call to this port: check baseUrl/,
      never,
    );
  });

  it.each([
    ["of Node", new NodeAgent()],
    [
      "of another undici",
      {
        dispatch() {
          throw new errors.InvalidArgumentError("invalid onRequestStart method");
        },
      },
    ],
  ])("the error says that the agent is none of this fetch: %s", async (_, dispatcher) => {
    const options = { baseUrl: await answering(200), fetch: through(dispatcher) };
    await expectFailure(options, /agent \(dispatcher\) is none of this fetch/, never);
  });

  it.each([
    ["407 Proxy Authentication Required", /proxy asks for a user and a password/],
    ["403 Forbidden", /the proxy led to no service/],
  ])("the error says what the proxy wants when that answers %s", async (status, message) => {
    const dispatcher = new ProxyAgent(await proxy(status));
    onTestFinished(() => dispatcher.close());
    const options = { baseUrl: "https://a.example", fetch: through(dispatcher) };
    await expectFailure(options, message, never);
  });

  it("the error says that the proxy wants a password when a proxy for http: answers 407", async () => {
    const baseUrl = await proxy("407");
    await expectFailure({ baseUrl }, /proxy asks for a user and a password/, never);
    const showing: Fetch = async () => new Response(null, { status: 407 });
    for (const error of await failures({ baseUrl, fetch: showing })) {
      expect(error).toMatchObject({ code: "service_failed", serviceStatus: 407, ...never });
      expect(error.message).toContain("the proxy asks for a user and a password");
    }
  });

  it("the error says that the request may have been sent when the connection breaks", async () => {
    const baseUrl = await listening(
      createRaw((socket) => socket.once("data", () => socket.destroy())),
    );
    await expectFailure({ baseUrl }, /got no answer.*: check baseUrl/, {
      sent: true,
      retryable: true,
    });
  });

  it("the error says that nothing was sent when the key does not come in time", async () => {
    const apiKey = () => new Promise<string>(() => {});
    for (const error of await failures({ baseUrl: "http://a.example", apiKey, timeoutMs: 10 })) {
      expect(error).toMatchObject({ code: "service_timeout", sent: false });
    }
  });
});

describe("a proxy in the environment", () => {
  it("the error names a proxy in the environment where the global fetch ignores it", async () => {
    vi.stubEnv("HTTP_PROXY", "http://user:canary@proxy.example:3128");
    vi.stubEnv("NO_PROXY", "other.example");
    const named = /HTTP_PROXY is set, and this fetch ignores it: .*NODE_USE_ENV_PROXY.*ProxyAgent/;
    await expectFailure({ baseUrl: "http://nowhere.invalid" }, named, never);
    await expectFailure({ baseUrl: await closedPort() }, named, later);
  });

  it.each([
    ["HTTPS_PROXY", "https:"],
    ["https_proxy", "https:"],
    ["ALL_PROXY", "https:"],
    ["http_proxy", "http:"],
  ])("the error names %s of the environment for an address of %s", async (name, protocol) => {
    const all = [
      "HTTPS_PROXY",
      "https_proxy",
      "HTTP_PROXY",
      "http_proxy",
      "ALL_PROXY",
      "all_proxy",
    ];
    for (const each of [...all, "NO_PROXY", "no_proxy"]) vi.stubEnv(each, undefined);
    vi.stubEnv(name, "http://user:canary@proxy.example:3128");
    const named = new RegExp(`name was not found: .*${name} is set, and this fetch ignores it`);
    await expectFailure({ baseUrl: `${protocol}//nowhere.invalid` }, named, never);
  });

  it("the error names no proxy of the environment that is for another protocol", async () => {
    vi.stubEnv("HTTPS_PROXY", "http://proxy.example:3128");
    await expectFailure({ baseUrl: "http://nowhere.invalid" }, /^((?!_PROXY).)*$/, later);
  });

  it("the error names no proxy for an address that needs none, or where a fetch is given", async () => {
    vi.stubEnv("HTTP_PROXY", "http://proxy.example:3128");
    vi.stubEnv("NO_PROXY", "a.example, .invalid");
    await expectFailure({ baseUrl: "http://nowhere.invalid" }, /^((?!HTTP_PROXY).)*$/, later);
    vi.stubEnv("NO_PROXY", "");
    const options = { baseUrl: await closedPort(), fetch: undiciFetch as unknown as Fetch };
    await expectFailure(options, /^((?!HTTP_PROXY).)*$/, later);
  });
});

describe("causes", () => {
  const error = (code: string, message = "x", cause?: unknown) =>
    Object.assign(new Error(message, { cause }), { code });
  const of = (thrown: unknown) => noAnswer(thrown, "https://a.example", false);

  it.each([
    ["ERR_TLS_CERT_ALTNAME_INVALID", /not trusted: check baseUrl/],
    ["CERT_HAS_EXPIRED", /not trusted: .*clock/],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", /not trusted/],
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", /not trusted/],
    ["SELF_SIGNED_CERT_IN_CHAIN", /not trusted/],
    ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", /client certificate/],
    ["ERR_INVALID_PROTOCOL", /agent/],
    ["EACCES", /check baseUrl and what this process may do/],
  ])("noAnswer() names the cause of %s, and allows no retry", (code, why) => {
    const wrapped = new TypeError("fetch failed", { cause: error(code) });
    expect(of(wrapped)).toMatchObject({ why: expect.stringMatching(why), ...never });
  });

  it.each(["EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT", "EMFILE"])(
    "noAnswer() allows a retry after %s",
    (code) => expect(of(error(code))).toMatchObject(later),
  );

  it.each(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT", "ETIMEDOUT"])(
    "noAnswer() says of %s that the request may have been sent",
    (code) => expect(of(error(code, "read"))).toMatchObject({ sent: true, retryable: true }),
  );

  it("noAnswer() says sent when one of several connections may have come through", () => {
    const refused = error("ECONNREFUSED");
    expect(of(new AggregateError([refused, refused]))).toMatchObject(later);
    expect(of(new AggregateError([refused, error("ECONNRESET")]))).toMatchObject({ sent: true });
  });

  it("noAnswer() takes no address for a cause", () => {
    const words = "request to https://a.example/self-signed/certificate failed, reason: read";
    expect(of(error("ECONNRESET", words))).toMatchObject({ sent: true });
  });
});
