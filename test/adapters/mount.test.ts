import { isQuick, isRest } from "@reporthook/test-support/needs";
import { mountContract } from "@reporthook/testing";
import { describe, test } from "vitest";
import { fetchHosts } from "./hosts/fetch.ts";
import { nodeHosts } from "./hosts/node.ts";
import { requestHosts } from "./hosts/requests.ts";

const hosts = Object.entries({ ...fetchHosts, ...nodeHosts, ...requestHosts });
// One way of mounting for each framework of today: `pnpm test` has these, and the rest all others.
const first = [
  "receiver.fetch",
  "node:http",
  "node:http2",
  "Express 5, app.post",
  "Koa 3, app.use",
  "Hono on Node, app.post",
];
const chosen = hosts.filter(([name]) => {
  const isFirst = first.includes(name);
  return isFirst ? !isRest : !isQuick;
});

describe.concurrent.each(chosen)("%s", (_name, host) => {
  for (const { name, run, skip } of mountContract(host)) if (skip === undefined) test(name, run);
});
