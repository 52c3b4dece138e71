import type { ProblemCode } from "@reporthook/core/telemetry";

/** The answer of the endpoint for each code, byte for byte. */
export interface ProblemDocument {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Row = readonly [status: number, title: string, detail: string, headers?: object];

const close = { connection: "close" };
const retry = { "retry-after": "5" };
const jsonAlone =
  "A notification is JSON: Content-Type: application/json, and no Content-Encoding.";
const tooLarge = "The body is over the limit, which is smaller without a signature.";
const consumed =
  "Something ahead of the receiver consumed the body and left nothing: mount the receiver before it, or let it keep the raw body.";

const rows: Readonly<Record<ProblemCode, Row>> = {
  method_not_allowed: [
    405,
    "Method Not Allowed",
    "Notifications are sent with POST.",
    { allow: "POST" },
  ],
  not_found: [404, "Not Found", "There is nothing at this address.", close],
  closing: [503, "Service Unavailable", "This server is shutting down.", retry],
  overloaded: [503, "Service Unavailable", "Too many notifications are waiting here.", retry],
  body_too_large: [413, "Content Too Large", tooLarge, close],
  body_timeout: [408, "Request Timeout", "The body did not arrive in time.", close],
  body_unavailable: [500, "Internal Server Error", consumed],
  unsupported_media_type: [415, "Unsupported Media Type", jsonAlone],
  invalid_json: [400, "Bad Request", "The body is not a JSON object."],
  missing_signature: [401, "Unauthorized", "The request carries no signature."],
  invalid_signature: [401, "Unauthorized", "The service did not make this signature."],
  expired_signature: [401, "Unauthorized", "The signature is older than 5 minutes."],
  inbox_unavailable: [503, "Service Unavailable", "The notification could not be stored.", retry],
  not_handled: [503, "Service Unavailable", "The notification was not handled."],
};

/** Every problem document: the same bytes on every host. */
export const problemDocuments = Object.fromEntries(
  Object.entries(rows).map(([code, [status, title, detail, headers = {}]]) => [
    code,
    {
      status,
      headers,
      body: `{"type":"about:blank","title":"${title}","status":${status},"code":"${code}","detail":"${detail}"}`,
    },
  ]),
) as Readonly<Record<ProblemCode, ProblemDocument>>;
