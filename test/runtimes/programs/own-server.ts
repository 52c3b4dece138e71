import type { MountHost } from "@reporthook/testing";
import { path } from "../../adapters/hosts/fetch.ts";
import { raw } from "../../adapters/hosts/mount.ts";

type Fetch = (request: Request) => Promise<Response>;

interface Runtimes {
  readonly Bun?: {
    serve(options: { port: number; hostname: string; fetch: Fetch }): {
      readonly port: number;
      stop(now: boolean): Promise<void>;
    };
  };
  readonly Deno?: {
    serve(
      options: { port: number; hostname: string; onListen(): void },
      fetch: Fetch,
    ): { readonly addr: { readonly port: number }; shutdown(): Promise<void> };
  };
}

const { Bun, Deno } = globalThis as Runtimes;
const limits = { "431 from Node for a header of 20 KB": "this is Node's own limit" };
const staysOpen = "Deno.serve answers, and leaves the connection open";
const saidTwice = "Deno.serve says Connection: close once more";

type Serve = (fetch: Fetch) => { readonly port: number; close(): Promise<void> };

const hostname = "127.0.0.1";
const serve: Serve | undefined =
  (Bun &&
    ((fetch) => {
      const server = Bun.serve({ port: 0, hostname, fetch });
      return { port: server.port, close: () => server.stop(true) };
    })) ||
  (Deno &&
    ((fetch) => {
      const server = Deno.serve({ port: 0, hostname, onListen() {} }, fetch);
      return { port: server.addr.port, close: () => server.shutdown() };
    }));

/** The host without what Node's server alone does. */
export function withoutNodesLimits(host: MountHost | undefined): MountHost {
  if (host === undefined) throw new Error("There is no such host");
  if (!(Bun || Deno)) return host;
  const { connect: _, ...rest } = host;
  return { ...rest, raw, skip: limits };
}

/** The server that the runtime brings along; undefined where that is `node:http`. */
export const ownHost: MountHost | undefined = serve && {
  methods: "all",
  raw,
  async serve({ fetch }, { consumed }) {
    const server = serve(async (request) => {
      if (consumed) await request.text();
      return fetch(request);
    });
    return { url: `http://127.0.0.1:${server.port}${path}`, close: server.close };
  },
  skip: {
    ...limits,
    ...(Deno && {
      "413 body_too_large while a body of unknown length is read": staysOpen,
      "413 body_too_large by content-length reaches a sender that goes on sending": staysOpen,
      "413 body_too_large for an unsigned body over 4 KiB": saidTwice,
      "an unsigned body is accepted or refused: 100,000 nested arrays": saidTwice,
      "an unsigned body is accepted or refused: 40,000 nested objects": saidTwice,
      "408 body_timeout for a body that stops half-way": staysOpen,
    }),
  },
};
