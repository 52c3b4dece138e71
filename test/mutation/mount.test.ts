import { mountContract } from "@reporthook/testing";
import { describe, test } from "vitest";
import { fetchHosts } from "../adapters/hosts/fetch.ts";
import { nodeHosts } from "../adapters/hosts/node.ts";

// Two hosts of all there are, because a mutant that nobody notices has to wait for them.
const hosts = Object.entries({ ...fetchHosts, ...nodeHosts }).filter(([name]) =>
  ["receiver.fetch", "node:http"].includes(name),
);

describe.concurrent.each(hosts)("%s", (_name, host) => {
  for (const { name, run } of mountContract(host)) test(name, run);
});
