import type { ProblemCode } from "@reporthook/core/telemetry";

/** The answer of the endpoint for each code, byte for byte. */
export interface ProblemDocument {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const close = { connection: "close" };
const retry = { "retry-after": "5" };

/** Every problem document, written out: the same bytes on every host. */
export const problemDocuments: Readonly<Record<ProblemCode, ProblemDocument>> = {
  method_not_allowed: {
    status: 405,
    headers: { allow: "POST" },
    body: '{"type":"about:blank","title":"Method Not Allowed","status":405,"code":"method_not_allowed","detail":"Notifications are sent with POST."}',
  },
  not_found: {
    status: 404,
    headers: close,
    body: '{"type":"about:blank","title":"Not Found","status":404,"code":"not_found","detail":"There is nothing at this address."}',
  },
  closing: {
    status: 503,
    headers: retry,
    body: '{"type":"about:blank","title":"Service Unavailable","status":503,"code":"closing","detail":"This server is shutting down."}',
  },
  overloaded: {
    status: 503,
    headers: retry,
    body: '{"type":"about:blank","title":"Service Unavailable","status":503,"code":"overloaded","detail":"Too many notifications are waiting here."}',
  },
  body_too_large: {
    status: 413,
    headers: close,
    body: '{"type":"about:blank","title":"Content Too Large","status":413,"code":"body_too_large","detail":"The body is over the limit, which is smaller without a signature."}',
  },
  body_timeout: {
    status: 408,
    headers: close,
    body: '{"type":"about:blank","title":"Request Timeout","status":408,"code":"body_timeout","detail":"The body did not arrive in time."}',
  },
  body_unavailable: {
    status: 500,
    headers: {},
    body: '{"type":"about:blank","title":"Internal Server Error","status":500,"code":"body_unavailable","detail":"Something ahead of the receiver consumed the body and left nothing: mount the receiver before it, or let it keep the raw body."}',
  },
  unsupported_media_type: {
    status: 415,
    headers: {},
    body: '{"type":"about:blank","title":"Unsupported Media Type","status":415,"code":"unsupported_media_type","detail":"A notification is JSON: Content-Type: application/json, and no Content-Encoding."}',
  },
  invalid_json: {
    status: 400,
    headers: {},
    body: '{"type":"about:blank","title":"Bad Request","status":400,"code":"invalid_json","detail":"The body is not a JSON object."}',
  },
  missing_signature: {
    status: 401,
    headers: {},
    body: '{"type":"about:blank","title":"Unauthorized","status":401,"code":"missing_signature","detail":"The request carries no signature."}',
  },
  invalid_signature: {
    status: 401,
    headers: {},
    body: '{"type":"about:blank","title":"Unauthorized","status":401,"code":"invalid_signature","detail":"The service did not make this signature."}',
  },
  expired_signature: {
    status: 401,
    headers: {},
    body: '{"type":"about:blank","title":"Unauthorized","status":401,"code":"expired_signature","detail":"The signature is older than 5 minutes."}',
  },
  inbox_unavailable: {
    status: 503,
    headers: retry,
    body: '{"type":"about:blank","title":"Service Unavailable","status":503,"code":"inbox_unavailable","detail":"The notification could not be stored."}',
  },
  not_handled: {
    status: 503,
    headers: {},
    body: '{"type":"about:blank","title":"Service Unavailable","status":503,"code":"not_handled","detail":"The notification was not handled."}',
  },
};
