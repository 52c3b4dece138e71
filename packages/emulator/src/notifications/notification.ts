import { randomUUID } from "node:crypto";
import { REPORT_STATUSES, type ReportStatus } from "./report-status.ts";
import type { SignatureKind, Signer } from "./signature.ts";

/** The names a receiver's `on` knows; `report` and `*` stand for one that they cover. */
export type NotificationName =
  | "test_webhook_endpoint"
  | `report.${ReportStatus}`
  | "report"
  | "unknown"
  | "*";

/** How a notification departs from the usual one. */
export interface NotificationOptions {
  /** The report it is about; a new one each time when left out. Only the report names use it. */
  readonly reportId?: string | undefined;
  /** The signature it carries; `"valid"` when left out. */
  readonly signature?: SignatureKind | undefined;
  /** Sent instead of the usual body: a string as it is, anything else as JSON. */
  readonly body?: string | object | undefined;
}

/** A notification ready to be sent; fits `fetch`, `app.request` and supertest as it is. */
export interface Notification {
  readonly method: "POST";
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Makes one signed notification, synchronously. */
export type Compose = (name: NotificationName, options?: NotificationOptions) => Notification;

/** Where a notification carries its signature; the service's document does not show it. */
export const SIGNATURE_HEADER = "X-svc-authorization";

const SIGNATURES: readonly SignatureKind[] = ["valid", "invalid", "expired", "none"];

const TEST_BODY: object = {
  event_type: "test_webhook_endpoint",
  payload: "This is a test notification: the address can receive notifications.",
};

const UNKNOWN_BODY: object = {
  event_type: "not_in_the_document",
  payload: "A kind of event that the document does not describe.",
};

// The document shows no body of a status change: this is the emulator's choice.
const reportBody =
  (status: ReportStatus) =>
  (reportId: string): object => ({
    event_type: "report_status_changed",
    payload: { report_id: reportId, status },
  });

const BODIES: ReadonlyMap<string, (reportId: string) => object> = new Map([
  ["test_webhook_endpoint", () => TEST_BODY],
  ...REPORT_STATUSES.map((status) => [`report.${status}`, reportBody(status)] as const),
  ["report", reportBody("complete")],
  ["unknown", () => UNKNOWN_BODY],
  ["*", reportBody("complete")],
]);

/** Makes the composer of one signer (the service's document, sections Webhook notification, Events). */
export function createCompose(signer: Signer): Compose {
  return (name, { reportId, signature = "valid", body, ...unknown } = {}) => {
    for (const option of Object.keys(unknown)) {
      throw new TypeError(
        `notification() has no option ${option}; these are: reportId, signature, body`,
      );
    }
    if (reportId !== undefined && typeof reportId !== "string") {
      throw new TypeError(`reportId must be a string, not ${typeof reportId}`);
    }
    // Not by instanceof: it may be of another realm, as in Jest.
    const isBuffer = Object.prototype.toString.call(body) === "[object ArrayBuffer]";
    if (ArrayBuffer.isView(body) || isBuffer)
      throw new TypeError("body must be text or an object, not bytes");
    const usual = BODIES.get(name);
    if (!usual) {
      throw new TypeError(`name must be one of ${[...BODIES.keys()].join(", ")}, not ${name}`);
    }
    if (!SIGNATURES.includes(signature)) {
      throw new TypeError(`signature must be one of ${SIGNATURES.join(", ")}, not ${signature}`);
    }
    const sent = body ?? usual(reportId ?? randomUUID());
    return {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "reporthook-emulator",
        ...(signature === "none" ? {} : { [SIGNATURE_HEADER]: signer.sign(signature) }),
      },
      body: typeof sent === "string" ? sent : JSON.stringify(sent),
    };
  };
}
