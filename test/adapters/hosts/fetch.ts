import { reporthook } from "@reporthook/hono";
import type { MountedReceiver, MountHost } from "@reporthook/testing";
import { Hono } from "hono";

/** Where notifications go on every host. */
export const path = "/webhooks/reports";

/** A Hono app with the receiver in it; with `consumed`, something ahead reads the body and leaves nothing. */
export function honoApp(
  receiver: MountedReceiver,
  consumed: boolean,
  attach: (app: Hono, handler: ReturnType<typeof reporthook>) => void,
): Hono {
  const app = new Hono();
  if (consumed) app.use((c, next) => c.req.raw.text().then(() => next()));
  attach(app, reporthook(receiver));
  return app;
}

/** The hosts that speak fetch, without a socket: they also run where there is no `node:http`. */
export const fetchHosts: Readonly<Record<string, MountHost>> = {
  "receiver.fetch": {
    methods: "all",
    serve: async ({ fetch }, { consumed }) => ({
      url: `https://app.example${path}`,
      async fetch(request) {
        if (consumed) await request.text();
        return fetch(request);
      },
      async close() {},
    }),
  },
  "Hono, app.request": {
    methods: "post",
    serve: async (receiver, { consumed }) => {
      const app = honoApp(receiver, consumed, (app, handler) => app.post(path, handler));
      return {
        url: `https://app.example${path}`,
        fetch: async (request) => app.request(request),
        async close() {},
      };
    },
  },
};
