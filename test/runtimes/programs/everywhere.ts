import { memoryInbox } from "@reporthook/core";
import { inboxContract, type MountHost, mountContract } from "@reporthook/testing";
import { fetchHosts } from "../../adapters/hosts/fetch.ts";
import type { Suite } from "../runtimes.ts";
import { runSuite, type SuiteReport } from "./suite.ts";

/** The suites that a program knows. */
export type Suites = { readonly [Name in Suite]?: () => Promise<SuiteReport> };

/** The endpoint's contract on one host. */
export const onHost =
  (host: MountHost | undefined): (() => Promise<SuiteReport>) =>
  () =>
    runSuite(mountContract(host as MountHost));

// A receiver on Workers wants to be told that a loss is accepted.
const open = () => memoryInbox({ acceptLoss: true });

/** The suites that need nothing but web standards. */
export const suitesEverywhere: Suites = {
  "receiver.fetch": onHost(fetchHosts["receiver.fetch"]),
  Hono: onHost(fetchHosts["Hono, app.request"]),
  "memory inbox": () => runSuite(inboxContract({ open, guarantees: open().guarantees })),
};
