import { randomUUID } from "node:crypto";
import { isWebhookUrl } from "../http/call.ts";
import { checkOptions } from "../lib/options.ts";
import { REPORT_STATUSES, type ReportStatus } from "./report-status.ts";
import type { SignatureKind, Signer } from "./signature.ts";

/** The names of a receiver's `on`; `report` and `*` create an event that they cover. */
export type NotificationName =
  | "test_webhook_endpoint"
  | `report.${ReportStatus}`
  | "report"
  | "unknown"
  | "*";

/** Options of a notification. */
export interface NotificationOptions {
  /** The report's id. Default: that of the last report requested with this `url`, else a new one. Only the report names use it. */
  readonly reportId?: string | undefined;
  /** The kind of its signature. Default: `"valid"`. */
  readonly signature?: SignatureKind | undefined;
  /** Replaces the usual body: a string unchanged, an object as JSON. */
  readonly body?: string | object | undefined;
  /** The URL that it is for, such as a callback URL: the notification then has its `path`. */
  readonly url?: string | undefined;
}

/** A notification ready to be sent with `fetch`, `app.request` or supertest. */
export interface Notification {
  readonly method: "POST";
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Creates one signed notification, synchronously; with `url` it has the path and query to post to. */
export interface Compose {
  (
    name: NotificationName,
    options: NotificationOptions & { readonly url: string },
  ): Notification & { readonly path: string };
  (name: NotificationName, options?: NotificationOptions): Notification;
}

/** The header with a notification's signature; the service's document does not show it. */
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

// The document shows no body of a status change: the emulator uses this one.
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

/**
 * Creates the composer of one signer (the service's document, sections Webhook notification, Events); `idAt` finds the report that
 * was requested with an address.
 */
export function createCompose(
  signer: Signer,
  idAt: (url: string | undefined) => string | undefined,
): Compose {
  return (name: NotificationName, options: NotificationOptions = {}) => {
    checkOptions("notification()", options, ["reportId", "signature", "body", "url"]);
    const { reportId, signature = "valid", body, url } = options;
    if (reportId !== undefined && typeof reportId !== "string") {
      throw new TypeError(`reportId must be a string, not ${typeof reportId}`);
    }
    // Not instanceof: it may come from another realm, as in Jest.
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
    const path = url === undefined ? {} : { path: pathOf(url) };
    const sent = body ?? usual(reportId ?? idAt(url) ?? randomUUID());
    return {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "reporthook-emulator",
        ...(signature === "none" ? {} : { [SIGNATURE_HEADER]: signer.sign(signature) }),
      },
      body: typeof sent === "string" ? sent : jsonOf(sent),
      ...(path as { readonly path: string }),
    };
  };
}

function jsonOf(body: object): string {
  try {
    const text = JSON.stringify(body) as string | undefined;
    if (text !== undefined) return text;
  } catch {
    // As without a text.
  }
  throw new TypeError("body must be text, or what JSON can hold: no cycle, no bigint");
}

function pathOf(url: string): string {
  // The message does not quote it: it may have a token.
  if (!isWebhookUrl(url))
    throw new TypeError("url must be the text of an absolute http or https URL");
  const { pathname, search } = new URL(url);
  return pathname + search;
}
