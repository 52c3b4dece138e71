export {
  type Authorize,
  type Dashboard,
  type DashboardLogger,
  type DashboardOptions,
  dashboard,
  type Person,
} from "./dashboard.ts";
export { type InboxOptions, ofInbox, type Source } from "./source.ts";
