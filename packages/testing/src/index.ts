export {
  type ContractCase,
  type InboxContractOptions,
  inboxContract,
} from "./inbox/contract.ts";
export type { StandingProcess, StandstillReport } from "./inbox/time/standing-process.ts";
export { standStillOn } from "./inbox/time/standing-still.ts";
export { mountContract } from "./mount/contract.ts";
export type {
  MountCase,
  MountedReceiver,
  MountHost,
  RawConnection,
  Served,
} from "./mount/host.ts";
