import { mountContract } from "@reporthook/testing";
import { describe, test } from "vitest";
import { fetchHosts } from "./hosts/fetch.ts";
import { nodeHosts } from "./hosts/node.ts";
import { requestHosts } from "./hosts/requests.ts";

const hosts = { ...fetchHosts, ...nodeHosts, ...requestHosts };

describe.concurrent.each(Object.entries(hosts))("%s", (_name, host) => {
  for (const { name, run, skip } of mountContract(host)) if (skip === undefined) test(name, run);
});
