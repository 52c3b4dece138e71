export {
  type Authorize,
  type Dashboard,
  type DashboardOptions,
  dashboard,
  type Person,
} from "./dashboard.ts";
export { type InboxOptions, ofInbox, type Source } from "./deliveries/source.ts";
export type { DashboardLogger } from "./logger.ts";
