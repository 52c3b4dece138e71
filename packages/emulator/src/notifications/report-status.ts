/** A status of a report (the service's document, section Report status). */
export type ReportStatus = "processing" | "complete" | "internal_error";

/** Every status of a report (the service's document, section Report status). */
export const REPORT_STATUSES: readonly ReportStatus[] = [
  "processing",
  "complete",
  "internal_error",
];
