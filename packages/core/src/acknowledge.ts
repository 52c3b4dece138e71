import type { Answer } from "./incoming.ts";

/** Why a request is refused: the `code` of the problem document. */
export type ProblemCode =
  | "method_not_allowed"
  | "not_found"
  | "closing"
  | "overloaded"
  | "body_too_large"
  | "body_timeout"
  | "body_unavailable"
  | "unsupported_media_type"
  | "invalid_json"
  | "missing_signature"
  | "invalid_signature"
  | "expired_signature"
  | "inbox_unavailable"
  | "not_handled";

/** What was decided on a request: stored (or handled), or refused. */
export type Decision =
  | { readonly status: "accepted" | "duplicate"; readonly id: string }
  | { readonly refused: ProblemCode };

type Problem = readonly [
  status: number,
  title: string,
  detail: string,
  headers: Readonly<Record<string, string>>,
];

const close = { Connection: "close" };
const retry = { "Retry-After": "5" };

const problems: Record<ProblemCode, Problem> = {
  method_not_allowed: [
    405,
    "Method Not Allowed",
    "Notifications are sent with POST.",
    { Allow: "POST" },
  ],
  not_found: [404, "Not Found", "There is nothing at this address.", close],
  closing: [503, "Service Unavailable", "This server is shutting down.", retry],
  overloaded: [503, "Service Unavailable", "Too many notifications are waiting here.", retry],
  body_too_large: [
    413,
    "Content Too Large",
    "The body is over the limit, which is smaller without a signature.",
    close,
  ],
  body_timeout: [408, "Request Timeout", "The body did not arrive in time.", close],
  body_unavailable: [
    500,
    "Internal Server Error",
    "Something ahead of the receiver consumed the body and left nothing: mount the receiver before it, or let it keep the raw body.",
    {},
  ],
  unsupported_media_type: [
    415,
    "Unsupported Media Type",
    "A notification is JSON: Content-Type: application/json, and no Content-Encoding.",
    {},
  ],
  invalid_json: [400, "Bad Request", "The body is not a JSON object.", {}],
  missing_signature: [401, "Unauthorized", "The request carries no signature.", {}],
  invalid_signature: [401, "Unauthorized", "The service did not make this signature.", {}],
  expired_signature: [401, "Unauthorized", "The signature is older than 5 minutes.", {}],
  inbox_unavailable: [503, "Service Unavailable", "The notification could not be stored.", retry],
  not_handled: [503, "Service Unavailable", "The notification was not handled.", {}],
};

const refusals = new Map<ProblemCode, Answer>(
  (Object.keys(problems) as ProblemCode[]).map((code) => [code, problem(code)]),
);

/** The answer to a decision: the only place that picks a status code. */
export function acknowledge(decision: Decision): Answer {
  if ("refused" in decision) return refusals.get(decision.refused) ?? problem(decision.refused);
  return {
    status: 200,
    headers: { "Content-Type": "application/json" },
    body: `{"status":"${decision.status}","id":"${decision.id}"}`,
  };
}

function problem(code: ProblemCode): Answer {
  const [status, title, detail, headers] = problems[code];
  return {
    status,
    headers: { "Content-Type": "application/problem+json", ...headers },
    body: JSON.stringify({ type: "about:blank", title, status, code, detail }),
  };
}
