import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ClientOptions } from "@reporthook/core";
import { freePort } from "@reporthook/test-support/free-port";
import { listen } from "../../adapters/hosts/mount.ts";

type Respond = (res: ServerResponse, said: string, req: IncomingMessage) => void;

/** Services that fail, each saying all it was told: the address with its query, the headers, the body. */
const failures: Readonly<Record<string, Respond>> = {
  ...Object.fromEntries(
    [400, 401, 403, 404, 422, 429, 500, 503].map((status) => [
      `${status} with JSON`,
      (res: ServerResponse, said: string) =>
        res.writeHead(status, { "content-type": "application/json", "x-said": "x" }).end(said),
    ]),
  ),
  "500 with text": (res, said) => res.writeHead(500).end(`no JSON: ${said}`),
  "a body that is encoded once more": (res, _, { url, headers }) =>
    res
      .writeHead(502)
      .end(encodeURIComponent([url, headers["api-key"], headers["x-svc-authorization"]].join(" "))),
  "a redirect to the same query": (res, _, req) =>
    res.writeHead(307, { location: `http://127.0.0.1:9${req.url}` }).end(),
  "a reason phrase": (res, _, req) =>
    res.writeHead(500, encodeURIComponent(String(req.headers["api-key"] ?? req.url))).end(),
  "half a body": (res, said) => {
    res.writeHead(200, { "content-length": 100_000 }).write(said, () => res.destroy());
  },
  "no answer": (res) => void res.destroy(),
  "no answer in time": () => {},
};

/** Serves each of them; `close` ends all. */
export async function failingServices(): Promise<{
  readonly urls: ReadonlyMap<string, string>;
  close(): Promise<void>;
}> {
  const all = await Promise.all(
    Object.entries(failures).map(async ([name, respond]) => {
      const served = await listen(async (req, res) => {
        const body = Buffer.concat(await req.toArray()).toString();
        respond(res, JSON.stringify({ url: req.url, headers: req.headers, body }), req);
      });
      return [name, served] as const;
    }),
  );
  return {
    urls: new Map([
      ...all.map(([name, { url }]) => [name, url] as const),
      ["nobody there", `http://127.0.0.1:${await freePort()}/`],
    ]),
    close: async () => void (await Promise.all(all.map(([, served]) => served.close()))),
  };
}

/** A user's own `fetch`, which fails and tells in every way what it was to fetch. */
export const failingFetches: Readonly<Record<string, NonNullable<ClientOptions["fetch"]>>> = {
  "throws the URL": async (url, init) => {
    throw new Error(`could not POST ${url} with ${JSON.stringify(init.headers)} ${init.body}`);
  },
  "throws an error with the request": async (url, init) => {
    const config = { url, ...init };
    throw Object.assign(new Error("request failed"), { config, request: new Request(url, init) });
  },
  "throws causes": async (url, init) => {
    const inner = new Error(`${url} ${JSON.stringify(init)}`);
    throw new TypeError("fetch failed", { cause: new Error(`for ${url}`, { cause: inner }) });
  },
  "throws an AggregateError": async (url, init) => {
    throw new AggregateError([new Error(url), new Error(JSON.stringify(init))], url);
  },
  "throws text": async (url, init) => Promise.reject(`${url} ${JSON.stringify(init.headers)}`),
  "has named its error after the URL": async (url) => {
    throw Object.assign(new Error("failed"), { name: url, code: url });
  },
  "breaks off the body": async (url) => {
    const body = new ReadableStream({
      pull: (controller) => controller.error(new Error(`lost the connection to ${url}`)),
    });
    return new Response(body, { status: 200 });
  },
  "is aborted": async (url, { signal }) => {
    await once(signal, "abort");
    throw new Error(`aborted: ${url}`);
  },
};
