import { randomUUID } from "node:crypto";
import { keepAlive } from "../lib/keep-alive.ts";
import type { Delivery } from "./delivery.ts";
import { REPORT_STATUSES, type ReportStatus } from "./report-status.ts";

/** A snapshot of a report; only its status is from the service's document. */
export interface Report {
  readonly id: string;
  readonly status: ReportStatus;
  /** The address of its notifications; null if the request gave none. */
  readonly webhookUrl: string | null;
  /** The request's body. */
  readonly request: Readonly<Record<string, unknown>>;
  /** Time of the request, by the emulator's clock. */
  readonly requestedAt: Date;
}

/** The requested reports. */
export interface Reports {
  /** Lists all reports, oldest first. */
  list(): Report[];
  get(id: string): Report | null;
  /**
   * Changes the status and notifies `webhook_url`, once per change (the service's document,
   * section States and transitions). Any status may follow any other: transitions are not shown.
   * Resolves to the delivery, or to null if nothing changed or there is no address; never rejects.
   *
   * @throws TypeError, synchronously, for an unknown report or status.
   */
  setStatus(id: string, status: ReportStatus): Promise<Delivery | null>;
}

/** The emulator's internal access to reports. */
export interface ReportStore {
  readonly reports: Reports;
  /** Adds a report with status `processing`, and sends that notification. */
  create(request: Readonly<Record<string, unknown>>, webhookUrl: string | null): Report;
  /** The id of the last report that was requested with this address. */
  idAt(webhookUrl: string | undefined): string | undefined;
  clear(): void;
}

/** Creates the store; `notify` is called for each new status of a report. */
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
        if (!report) throw new TypeError(`id must be a requested report's id, not ${id}`);
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
    idAt: (url) => [...kept.values()].findLast(({ webhookUrl }) => webhookUrl === url)?.id,
    clear: () => kept.clear(),
  };
}
