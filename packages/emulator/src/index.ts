export { createEmulator, type Emulator, type EmulatorOptions } from "./emulator.ts";
export type { AppUnderTest } from "./http/app-server.ts";
export type { VirtualClock, VirtualTimer } from "./lib/clock.ts";
export type { FaultOptions, FaultTarget } from "./lib/faults.ts";
export type { Deliver, Delivery } from "./notifications/delivery.ts";
export type {
  Notification,
  NotificationName,
  NotificationOptions,
} from "./notifications/notification.ts";
export type { ReportStatus } from "./notifications/report-status.ts";
export type { Report, Reports } from "./notifications/reports.ts";
export type { SignatureKind } from "./notifications/signature.ts";
