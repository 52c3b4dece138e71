import { randomUUID } from "node:crypto";
import { keepAlive } from "../lib/keep-alive.ts";
import { REPORT_STATUSES, type ReportStatus } from "./report-status.ts";
import type { Delivery } from "./sender.ts";

/** A report as it was when asked for; only its status rests on the service's document. */
export interface Report {
  readonly id: string;
  readonly status: ReportStatus;
  /** Where its changes are notified; null when the request gave none. */
  readonly webhookUrl: string | null;
  /** The request as it came. */
  readonly request: Readonly<Record<string, unknown>>;
  /** By the emulator's clock. */
  readonly requestedAt: Date;
}

/** The reports that were requested. */
export interface Reports {
  /** All of them, oldest first. */
  list(): Report[];
  get(id: string): Report | null;
  /**
   * Changes the status and notifies `webhook_url`, once per change (the service's document,
   * section States and transitions). Any status may follow any other: transitions are not shown.
   * Resolves to the delivery, or to null when nothing changed or nobody is to be told; never rejects.
   *
   * @throws TypeError, at once, when there is no such report or status.
   */
  setStatus(id: string, status: ReportStatus): Promise<Delivery | null>;
}

/** What the emulator itself does with reports. */
export interface ReportStore {
  readonly reports: Reports;
  /** Keeps a new report, `processing`, and notifies so. */
  create(request: Readonly<Record<string, unknown>>, webhookUrl: string | null): Report;
  clear(): void;
}

/** Makes the store; `notify` is told of each status a report takes. */
export function createReportStore(
  now: () => number,
  notify: (report: Report) => Promise<Delivery | null>,
): ReportStore {
  const kept = new Map<string, Report>();

  function keep(report: Report): Promise<Delivery | null> {
    kept.set(report.id, Object.freeze(report));
    return notify(report);
  }

  return {
    reports: {
      list: () => [...kept.values()],
      get: (id) => kept.get(id) ?? null,
      setStatus(id, status) {
        const report = kept.get(id);
        if (!report) throw new TypeError(`id must be that of a requested report, not ${id}`);
        if (!REPORT_STATUSES.includes(status)) {
          throw new TypeError(`status must be one of ${REPORT_STATUSES.join(", ")}, not ${status}`);
        }
        if (report.status === status) return Promise.resolve(null);
        return keepAlive(keep({ ...report, status }));
      },
    },
    create(request, webhookUrl) {
      const report: Report = {
        id: randomUUID(),
        status: "processing",
        webhookUrl,
        request,
        requestedAt: new Date(now()),
      };
      void keep(report);
      return report;
    },
    clear: () => kept.clear(),
  };
}
