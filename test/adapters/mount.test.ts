import { mountContract } from "@reporthook/core/testing";
import { describe, test } from "vitest";
import { fetchHosts } from "./fetch-hosts.ts";
import { nodeHosts } from "./node-hosts.ts";

describe.concurrent.each(Object.entries({ ...fetchHosts, ...nodeHosts }))("%s", (_name, host) => {
  for (const { name, run, skip } of mountContract(host)) if (skip === undefined) test(name, run);
});
