import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { createRequestListener } from "@remix-run/node-fetch-server";
import type { MountHost } from "@reporthook/testing";
import { H3 } from "h3";
import * as h3v1 from "h3-1";
import { toNodeHandler } from "srvx/node";
import { path } from "./fetch.ts";
import { listen, socketHost } from "./mount.ts";

type Handle = (request: Request) => Promise<Response>;

/** The members used of two packages whose types would put a browser's globals into every file. */
interface SvelteKit {
  getRequest(options: { request: IncomingMessage; base: string }): Promise<Request>;
  setResponse(response: ServerResponse, answer: Response): Promise<void>;
}
interface WhatwgNode {
  createServerAdapter(handle: Handle): RequestListener;
}
const untyped = async <T>(name: string): Promise<T> => (await import(name)) as T;
const { getRequest, setResponse } = await untyped<SvelteKit>("@sveltejs/kit/node");
const { createServerAdapter } = await untyped<WhatwgNode>("@whatwg-node/server");

async function onSvelteKit(
  handle: Handle,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const base = `http://${request.headers.host}`;
  await setResponse(response, await handle(await getRequest({ request, base })));
}

const listeners: Readonly<Record<string, (handle: Handle) => RequestListener>> = {
  srvx: (handle) => toNodeHandler(handle) as RequestListener,
  "h3 2": (handle) =>
    toNodeHandler(new H3().all(path, ({ req }) => handle(req)).fetch) as RequestListener,
  "h3 1": (handle) =>
    h3v1.toNodeListener(
      h3v1.createApp().use(h3v1.eventHandler((event) => handle(h3v1.toWebRequest(event)))),
    ),
  "@whatwg-node/server": (handle) => createServerAdapter(handle),
  "@remix-run/node-fetch-server": (handle) => createRequestListener(handle),
  SvelteKit: (handle) => (req, res) => void onSvelteKit(handle, req, res),
};

const consumed = "500 body_unavailable when something ahead consumed the body";
const endless = { [consumed]: "the server shows a body that never ends" };
const looks = {
  "the body is stored where something ahead has a getter for it that throws":
    "the server looks at it itself",
};
const keeps = Object.fromEntries(
  ["keeps its beginning only", "has made an empty rawBody, as bytes"].map((what) => [
    `the body is stored where something ahead ${what}`,
    "the server takes what is kept for the body",
  ]),
);
const ends = {
  "all requests that are sent at once are answered while the server is shut down":
    "Node's request is not seen, nor what else is on its connection",
};
const skips: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "h3 1": { ...endless, ...looks, ...keeps, ...ends },
  "@whatwg-node/server": { ...looks, ...ends },
  "@remix-run/node-fetch-server": { ...endless, ...ends },
  SvelteKit: { ...endless, ...ends },
};

/** Servers that make a web standard request of Node's, each with `receiver.fetch`. */
export const requestHosts: Readonly<Record<string, MountHost>> = Object.fromEntries(
  Object.entries(listeners).map(([name, toListener]) => [
    name,
    socketHost(
      "all",
      ({ fetch }, isConsumed) => {
        const listener = toListener((request) => fetch(request));
        return listen((req, res) => {
          if (isConsumed) void text(req).then(() => listener(req, res));
          else listener(req, res);
        }, path);
      },
      skips[name],
    ),
  ]),
);
