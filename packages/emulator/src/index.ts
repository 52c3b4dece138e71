export type { VirtualClock, VirtualTimer } from "./clock.ts";
export { createEmulator, type Emulator, type EmulatorOptions } from "./emulator.ts";
export type { FaultOptions, FaultTarget } from "./faults.ts";
export type { Notification, NotificationName, NotificationOptions } from "./notification.ts";
export type { Deliver, Delivery } from "./outbox.ts";
export type { ReportStatus } from "./report-status.ts";
export type { Report, Reports } from "./reports.ts";
export type { SignatureKind } from "./signature.ts";
