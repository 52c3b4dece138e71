// The parts that tests of other packages, and those in test/, reach into. Not published.

export { errorOf, reasonHint, reasonName, reasons } from "./page/labels.ts";
export { timelineOf } from "./page/views/timeline.ts";
export {
  maxListLength,
  type WireOne,
  type WireReportOne,
  type WireReports,
} from "./src/deliveries/wire.ts";
export { dashboardMessages } from "./src/log-messages.ts";
