export {
  type ContractCase,
  type InboxContractOptions,
  inboxContract,
} from "./testing/inbox/contract.ts";
export { mountContract } from "./testing/mount/contract.ts";
export type { Mountable, MountCase, MountHost, Served } from "./testing/mount/host.ts";
