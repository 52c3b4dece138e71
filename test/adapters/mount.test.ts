import { mountContract } from "@reporthook/core/testing";
import { describe, test } from "vitest";
import { fetchHosts } from "./fetch-hosts.ts";
import { nodeHosts } from "./node-hosts.ts";
import { requestHosts } from "./request-hosts.ts";

const hosts = { ...fetchHosts, ...nodeHosts, ...requestHosts };

describe.concurrent.each(Object.entries(hosts))("%s", (_name, host) => {
  for (const { name, run, skip } of mountContract(host)) if (skip === undefined) test(name, run);
});
