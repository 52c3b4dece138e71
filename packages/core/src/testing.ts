export {
  type ContractCase,
  type InboxContractOptions,
  inboxContract,
} from "./testing/inbox/contract.ts";
export type { StandingProcess, StandstillReport } from "./testing/inbox/time/standing-process.ts";
export { standStillOn } from "./testing/inbox/time/standing-still.ts";
export { mountContract } from "./testing/mount/contract.ts";
export type {
  MountCase,
  MountedReceiver,
  MountHost,
  RawConnection,
  Served,
} from "./testing/mount/host.ts";
