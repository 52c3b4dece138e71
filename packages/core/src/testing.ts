export {
  type ContractCase,
  type InboxContractOptions,
  inboxContract,
} from "./testing/inbox/contract.ts";
export { mountContract } from "./testing/mount/contract.ts";
export type {
  MountCase,
  MountedReceiver,
  MountHost,
  RawConnection,
  Served,
} from "./testing/mount/host.ts";
