import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createRawServer, type Server } from "node:net";
import { inspect } from "node:util";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type ClientOptions, createClient, type Fetch } from "./client.ts";
import { ServiceError } from "./errors.ts";

const key = "canary-Key/9+z&'\"\\=%";
const never = () => new Promise<never>(() => {});
const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
  vi.useRealTimers();
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return await listen(server);
}

/** A server below HTTP: sends `bytes` to whoever says something, and hangs up. */
async function serveRaw(bytes: string): Promise<string> {
  const server = createRawServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(bytes));
  });
  closing.push(() => server.close());
  return await listen(server);
}

const answering = (status: number, headers: Record<string, string> = {}, body = "") =>
  serve((request, response) => {
    request.resume();
    response.writeHead(status, headers).end(body);
  });

/** All three operations, in every way of carrying the key. */
function operations(options: Partial<ClientOptions> & Pick<ClientOptions, "baseUrl">) {
  const client = createClient({ apiKey: key, timeoutMs: 30_000, ...options });
  const byQuery = createClient({ apiKey: key, timeoutMs: 30_000, ...options, reportAuth: "query" });
  return [
    () => client.authorize("s"),
    () => client.testWebhook("https://app.example/"),
    () => client.requestReport({}),
    () => byQuery.requestReport({}),
  ];
}

const rejection = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    () => expect.unreachable("it resolved"),
    (thrown: unknown) => thrown,
  );

/** Everything that can be seen of an error, followed through properties that nobody lists. */
function shown(error: unknown, seen = new Set<unknown>()): string {
  if (typeof error !== "object" || error === null || seen.has(error)) return String(error);
  seen.add(error);
  const own = Reflect.ownKeys(error).map((name) => shown(Reflect.get(error, name), seen));
  const inspected = inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true });
  return [inspected, JSON.stringify(error), (error as Error).stack, ...own].join("\n");
}

/** The failure of every operation, in which the key is nowhere to be seen. */
async function failures(
  options: Partial<ClientOptions> & { baseUrl: string },
  of = operations(options),
): Promise<any[]> {
  const errors = await Promise.all(of.map((operation) => rejection(operation())));
  for (const error of errors) expect(shown(error)).not.toMatch(/canary|9(?:\+|%2b| )z/i);
  return errors;
}

describe("an answer that is no outcome", () => {
  it.each([
    [201, "service_failed", false],
    [204, "service_failed", false],
  ])(
    "authorize() rejects when the answer is %i, which the document does not list",
    async (status, code, retryable) => {
      const client = createClient({ baseUrl: await answering(status), apiKey: key });
      const error = await rejection(client.authorize("s"));
      expect(error).toBeInstanceOf(ServiceError);
      expect(error).toMatchObject({ code, status, retryable });
    },
  );

  it.each([
    [400, "service_failed", false],
    [401, "service_refused", false],
    [403, "service_refused", false],
    [404, "service_failed", false],
    [408, "service_failed", true],
    [422, "service_failed", false],
    [425, "service_failed", true],
    [429, "service_failed", true],
    [500, "service_failed", true],
    [501, "service_failed", true],
    [503, "service_failed", true],
  ])(
    "callService() rejects when the answer is %i: %s, retryable %s",
    async (status, code, retryable) => {
      const baseUrl = await answering(status, {}, '{"message":"no"}');
      for (const error of await failures({ baseUrl })) {
        expect(error).toBeInstanceOf(ServiceError);
        expect(error).toMatchObject({ code, status, retryable, body: { message: "no" } });
        expect(error.message).toContain(String(status));
        expect(error.message).toContain(baseUrl);
        expect(error.retryAfterMs).toBeUndefined();
        expect(error.cause).toBeUndefined();
      }
    },
  );

  it("callService() asks once when the answer invites another try", async () => {
    let asked = 0;
    const baseUrl = await serve((request, response) => {
      asked++;
      request.resume();
      response.writeHead(503, { "retry-after": "0" }).end();
    });
    const errors = await failures({ baseUrl });
    expect(asked).toBe(errors.length);
    expect(errors[0]).toMatchObject({ retryAfterMs: 0 });
    expect(errors[0].body).toBeUndefined();
  });

  it.each([301, 302, 303, 304, 307, 308])(
    "callService() rejects and calls nobody else when the answer is the redirect %i",
    async (status) => {
      let followed = 0;
      const target = await serve((_, response) => {
        followed++;
        response.end();
      });
      const location = `${target}/?api_key=${encodeURIComponent(key)}`;
      for (const error of await failures({ baseUrl: await answering(status, { location }) })) {
        expect(error).toMatchObject({ code: "service_failed", status, retryable: false });
        expect(error.message).toContain("redirect");
      }
      expect(followed).toBe(0);
    },
  );

  it("callService() rejects when the given fetch hides or has followed a redirect", async () => {
    const opaque = Object.defineProperties(Response.error(), { type: { value: "opaqueredirect" } });
    for (const error of await failures({
      baseUrl: "http://a.example",
      fetch: async () => opaque,
    })) {
      expect(error).toMatchObject({ code: "service_failed", retryable: false });
      expect(error.status).toBeUndefined();
    }
    const target = await answering(200);
    const baseUrl = await answering(302, { location: target });
    const following: Fetch = (url, init) => fetch(url, { ...init, redirect: "follow" });
    for (const error of await failures({ baseUrl, fetch: following })) {
      expect(error).toMatchObject({ code: "service_failed", retryable: false });
      expect(error.message).toContain("redirect");
    }
  });

  it("callService() cuts the body at 2 KiB and takes the key out when the service sends more and echoes the key", async () => {
    const echo = `bad key ${key}; `.repeat(10_000);
    for (const error of await failures({ baseUrl: await answering(400, {}, echo) })) {
      expect(error.body).toMatch(/^bad key \[api key\]; bad key \[api key\];/);
      expect(error.body.length).toBeLessThanOrEqual(2_048);
    }
  });

  it.each(
    Object.entries({
      json: JSON.stringify({ error: `no ${key}`, [key]: [key, 1] }),
      encoded: JSON.stringify({ url: `/v1?api_key=${encodeURIComponent(key)}` }),
      form: `api_key=${new URLSearchParams({ key }).toString().slice(4)}`,
      lower: encodeURIComponent(key).replace(/%../g, (encoded) => encoded.toLowerCase()),
      text: `<p>${key}</p>`,
      broken: `{"key":${JSON.stringify(key)}`,
    }),
  )(
    "callService() takes the key out of the body when the service echoes it as %s",
    async (_, body) => {
      for (const error of await failures({ baseUrl: await answering(500, {}, body) })) {
        expect(JSON.stringify(error.body)).toContain("[api key]");
      }
    },
  );

  it("callService() keeps to the refusal of a body that breaks off when the status says enough", async () => {
    const baseUrl = await serveRaw("HTTP/1.1 401 No\r\ncontent-length: 99\r\n\r\nhalf");
    for (const error of await failures({ baseUrl })) {
      expect(error).toMatchObject({ code: "service_refused", status: 401, body: "half" });
    }
  });
});

describe("Retry-After", () => {
  const now = Date.UTC(2026, 10, 21, 9, 0, 0);
  it.each([
    ["120", 120_000],
    ["0", 0],
    ["-5", 0],
    ["Sat, 21 Nov 2026 09:00:30 GMT", 30_000],
    ["Saturday, 21-Nov-26 09:00:30 GMT", 30_000],
    ["Sat Nov 21 09:00:30 2026", 30_000],
    ["Sat, 21 Nov 2026 08:00:00 GMT", 0],
    ["soon", undefined],
    ["1.5", undefined],
    ["", undefined],
    ["Sat, 99 Nov 2026", undefined],
    ["9".repeat(30), undefined],
  ])("callService() reads Retry-After when it is %j: %s", async (header, expected) => {
    vi.useFakeTimers({ now, toFake: ["Date"] });
    const client = createClient({
      baseUrl: await answering(503, { "retry-after": header }),
      apiKey: key,
    });
    const error = await rejection(client.authorize("s"));
    expect(error.retryAfterMs).toBe(expected);
  });
});

describe("no answer", () => {
  it("callService() rejects with service_unreachable when the connection is refused", async () => {
    const server = createRawServer();
    const baseUrl = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    for (const error of await failures({ baseUrl })) {
      expect(error).toBeInstanceOf(ServiceError);
      expect(error).toMatchObject({ code: "service_unreachable", retryable: true });
      expect(error.message).toContain("ECONNREFUSED");
      expect(error.cause).toMatchObject({ name: "TypeError", cause: { code: "ECONNREFUSED" } });
      expect(error.status).toBeUndefined();
    }
  });

  it.each([
    ["garbage", `canary ${key} garbage\r\n\r\n`],
    ["nothing", ""],
  ])("callService() rejects with service_unreachable when the answer is %s", async (_, bytes) => {
    for (const error of await failures({ baseUrl: await serveRaw(bytes) })) {
      expect(error).toMatchObject({ code: "service_unreachable", retryable: true });
      expect(error.cause).toBeInstanceOf(Error);
    }
  });

  it("callService() rejects with what came, for no second try, when the body of a 2xx breaks off", async () => {
    const bytes = `HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf ${key}`;
    const baseUrl = await serveRaw(bytes);
    for (const error of await failures({ baseUrl }, operations({ baseUrl }).slice(1))) {
      const known = { code: "service_unreachable", status: 200, body: "half [api key]" };
      expect(error).toMatchObject({ ...known, retryable: false });
      expect(error.message).toMatch(/answered 200, then broke off \(.+\): it is done, or will be$/);
    }
  });

  it("callService() rejects by the status when the body of another answer breaks off", async () => {
    const bytes = "HTTP/1.1 503 Away\r\ncontent-length: 99\r\n\r\nhalf";
    for (const error of await failures({ baseUrl: await serveRaw(bytes) })) {
      expect(error).toMatchObject({ code: "service_failed", status: 503, retryable: true });
    }
  });

  it.each([
    [200, "valid"],
    [406, "invalid"],
    [424, "expired"],
  ])(
    "authorize() has its verdict by the status %i although the body breaks off",
    async (status, verdict) => {
      const baseUrl = await serveRaw(`HTTP/1.1 ${status} S\r\ncontent-length: 99\r\n\r\nhalf`);
      await expect(createClient({ baseUrl, apiKey: key }).authorize("s")).resolves.toBe(verdict);
    },
  );

  it("callService() hides the key when the given fetch throws what carries the request", async () => {
    const fetch: Fetch = async (url, init) => {
      const inner = Object.assign(new Error(`connect to ${url}`), { code: `E ${url}`, url, init });
      const error = new Error(`${url} ${JSON.stringify(init)} ${inspect(init)}`, { cause: inner });
      Object.defineProperty(error, "request", { value: { url, ...init }, enumerable: false });
      error.name = `FetchError ${url}`;
      throw error;
    };
    for (const error of await failures({ baseUrl: "http://a.example", fetch })) {
      expect(error).toMatchObject({ code: "service_unreachable", retryable: true });
      expect(error.cause).not.toHaveProperty("request");
      expect(error.cause.message).toContain("http://a.example");
    }
  });

  it.each([
    ["a text", (url: string, init: unknown) => `${url} ${JSON.stringify(init)}`],
    ["an object", (url: string, init: unknown) => ({ url, init })],
    ["an AggregateError", (url: string) => new AggregateError([new Error(url)], url)],
  ])("callService() hides the key when the given fetch throws %s", async (_, thrown) => {
    const fetch: Fetch = (url, init) => {
      throw thrown(url, init);
    };
    for (const error of await failures({ baseUrl: "http://a.example", fetch })) {
      expect(error.code).toBe("service_unreachable");
    }
  });

  it("authorize() rejects with service_unreachable when the given fetch resolves to nonsense", async () => {
    const fetch = (async () => undefined) as unknown as Fetch;
    for (const error of await failures({ baseUrl: "http://a.example", fetch })) {
      expect(error.code).toBe("service_unreachable");
    }
  });

  it("callService() never shows the key when the key has odd characters", async () => {
    const unit = fc.constantFrom(..."aZ0+/=&?#%'\"\\{}[]<>`$|^~.*()é漢🔑\b");
    const keys = fc.string({ unit, maxLength: 12 }).map((text) => `canary${text}canary`);
    const fetch: Fetch = async (url, init) => {
      const told = `${url} ${JSON.stringify({ url, init })} ${new URL(url).href} ${inspect(init)}`;
      if (url.includes("authorize")) throw new Error(told);
      return new Response(told, { status: 500 });
    };
    await fc.assert(
      fc.asyncProperty(keys, async (apiKey) => {
        for (const operation of operations({ baseUrl: "http://a.example", apiKey, fetch })) {
          expect(shown(await rejection(operation()))).not.toContain("canary");
        }
      }),
    );
  });
});

describe("an answer whose body was read already", () => {
  const fetch: Fetch = async (...given) => {
    const answer = await globalThis.fetch(...given);
    await answer.text();
    return answer;
  };

  it("is done all the same: by the status, and for no second try", async () => {
    const options = { baseUrl: await answering(200, {}, "done"), fetch };
    const [authorize, ...others] = operations(options);
    await expect(authorize?.()).resolves.toBe("valid");
    for (const error of await failures(options, others)) {
      expect(error).toMatchObject({ code: "service_unreachable", status: 200, retryable: false });
    }
  });
});

describe("a caller that aborts", () => {
  it("learns its reason, however early it comes and whatever fetch makes of it", async () => {
    const reason = new Error("mine");
    const baseUrl = await serve(() => {});
    const rejects: Fetch = (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    for (const fetch of [undefined, rejects]) {
      for (const isEarly of [true, false]) {
        const client = createClient({ baseUrl, apiKey: key, fetch, timeoutMs: 60_000 });
        const aborting = new AbortController();
        const asked = rejection(client.authorize("s", { signal: aborting.signal }));
        if (!isEarly) await new Promise((resolve) => setTimeout(resolve, 20));
        aborting.abort(reason);
        expect(await asked).toBe(reason);
      }
    }
  });

  it("learns of the time that is up, when a fetch rejects as soon as it is aborted", async () => {
    const fetch: Fetch = (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    for (const error of await failures({ baseUrl: "http://a.example", timeoutMs: 10, fetch })) {
      expect(error.code).toBe("service_timeout");
    }
  });
});

describe("no answer in time", () => {
  const silent = () => serve(() => {});

  it("callService() rejects with service_timeout when the server never answers", async () => {
    for (const error of await failures({ baseUrl: await silent(), timeoutMs: 50 })) {
      expect(error).toBeInstanceOf(ServiceError);
      expect(error).toMatchObject({ code: "service_timeout", retryable: true });
      expect(error.message).toContain("50 ms");
      expect(error.status).toBeUndefined();
    }
  });

  /** Answers that begin with the status and never end; time passes once `number` have it. */
  async function endless(status: number, number: number) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const baseUrl = await serve((_, response) => void response.writeHead(status).write("half"));
    let answered = 0;
    const fetch: Fetch = async (...given) => {
      const answer = await globalThis.fetch(...given);
      if (++answered === number) setImmediate(() => vi.advanceTimersByTime(100));
      return answer;
    };
    return { baseUrl, timeoutMs: 100, fetch };
  }

  it.each([
    [200, 1, false],
    [500, 0, true],
  ])(
    "callService() rejects with service_timeout and the status when the body of a %i never ends",
    async (status, from, retryable) => {
      const options = await endless(status, 4 - from);
      for (const error of await failures(options, operations(options).slice(from))) {
        expect(error).toMatchObject({ code: "service_timeout", status, retryable });
        expect(error.message).toMatch(
          new RegExp(`answered ${status}, but did not end within 100 ms`),
        );
      }
    },
  );

  it.each([
    [200, "valid"],
    [406, "invalid"],
    [424, "expired"],
  ])(
    "authorize() has its verdict by the status %i although the body never ends",
    async (status, verdict) => {
      const client = createClient({ ...(await endless(status, 1)), apiKey: key });
      await expect(client.authorize("s")).resolves.toBe(verdict);
    },
  );

  it("callService() rejects with service_timeout when the given fetch ignores its signal", async () => {
    for (const error of await failures({
      baseUrl: "http://a.example",
      timeoutMs: 50,
      fetch: never,
    })) {
      expect(error.code).toBe("service_timeout");
    }
  });

  it("callService() gives a body up when it comes after the end, or stays open beyond it", async () => {
    let cancelled = 0;
    const open = () =>
      new Response(new ReadableStream({ pull: () => never(), cancel: () => void cancelled++ }));
    const late: Fetch = async () => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return open();
    };
    await failures({ baseUrl: "http://a.example", timeoutMs: 30, fetch: late });
    await vi.waitFor(() => expect(cancelled).toBe(4), 60_000);
    const beyond = { baseUrl: "http://a.example", timeoutMs: 30, fetch: async () => open() };
    const [authorize, ...others] = operations(beyond);
    await expect(authorize?.()).resolves.toBe("valid");
    await failures(beyond, others);
    await vi.waitFor(() => expect(cancelled).toBe(8), 60_000);
  });

  it("callService() cancels a body when it is longer than 64 KiB", async () => {
    let cancelled = 0;
    const pull = (stream: ReadableStreamDefaultController) => {
      stream.enqueue(new Uint8Array(10_000).fill(0x78));
    };
    const fetch: Fetch = async () =>
      new Response(new ReadableStream({ pull, cancel: () => void cancelled++ }));
    const client = createClient({ baseUrl: "http://a.example", apiKey: key, fetch });
    await expect(client.authorize("s")).resolves.toBe("valid");
    expect(cancelled).toBe(1);
  });

  it("callService() sends nothing when the key comes after the end", async () => {
    const fetch = vi.fn<Fetch>();
    const apiKey = () => new Promise<string>((resolve) => setTimeout(resolve, 60, key));
    const options = { baseUrl: "http://a.example", timeoutMs: 30, fetch, apiKey };
    for (const error of await failures(options)) {
      expect(error.code).toBe("service_timeout");
      expect(error.message).toContain("apiKey");
    }
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(fetch).not.toHaveBeenCalled();
  });
});

describe("a function as apiKey that throws", () => {
  it.each([
    ["an error", new TypeError(`no ${key}`, { cause: key }), "TypeError"],
    ["an error with a name of its own", Object.assign(new Error(key), { name: key }), "something"],
    ["a text", key, "something"],
  ])("callService() names the option only when it throws %s", async (_, thrown, name) => {
    const fetch = vi.fn<Fetch>();
    const apiKey = () => {
      throw thrown;
    };
    for (const error of await failures({ baseUrl: "http://a.example", fetch, apiKey })) {
      expect(error.message).toBe(`The function given as apiKey threw ${name}; nothing was sent`);
    }
    expect(fetch).not.toHaveBeenCalled();
  });
});

describe("the caller's signal", () => {
  const reason = new Error("changed my mind");

  it("authorize() rejects with its reason and sends nothing when it is aborted before", async () => {
    const fetch = vi.fn<Fetch>();
    const client = createClient({ baseUrl: "http://a.example", apiKey: key, fetch });
    const signal = AbortSignal.abort(reason);
    await expect(client.authorize("s", { signal })).rejects.toBe(reason);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("authorize() rejects with its reason and hangs up when it is aborted meanwhile", async () => {
    const controller = new AbortController();
    let hungUp: () => void = () => {};
    const closed = new Promise<void>((resolve) => {
      hungUp = resolve;
    });
    const baseUrl = await serve((request) => {
      request.socket.once("close", hungUp);
      controller.abort(reason);
    });
    const client = createClient({ baseUrl, apiKey: key });
    await expect(client.authorize("s", { signal: controller.signal })).rejects.toBe(reason);
    await closed;
  });

  it("authorize() leaves no listener and no timer when it has ended", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    for (const fetch of [async () => new Response(""), () => Promise.reject(new Error("no"))]) {
      const client = createClient({ baseUrl: "http://a.example", apiKey: key, fetch });
      await client.authorize("s", { signal }).catch(() => {});
    }
    expect(added.mock.calls.map(([name, listener]) => [name, listener])).toEqual(
      removed.mock.calls,
    );
    expect(added).toHaveBeenCalledTimes(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});
