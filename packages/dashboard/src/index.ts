export { type Authorize, type Dashboard, type DashboardOptions, dashboard } from "./dashboard.ts";
export { type InboxOptions, ofInbox, type Source } from "./deliveries/source.ts";
export type { Person } from "./deliveries/wire.ts";
