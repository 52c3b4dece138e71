export {
  type Authorize,
  type Dashboard,
  type DashboardOptions,
  dashboard,
  type Person,
} from "./dashboard.ts";
export type { DashboardLogger } from "./logger.ts";
export { type InboxOptions, ofInbox, type Source } from "./source.ts";
