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

/** The result of a request: stored (or handled), or refused. */
export type ReceiveResult =
  | { readonly status: "accepted" | "duplicate"; readonly id: string }
  | {
      readonly refused: ProblemCode;
      readonly id?: string;
      /** It is genuine, or came with a callback token of this receiver: its loss is a problem; false if nobody can say whether it is signed. */
      readonly isOurs?: boolean;
    };

/** The result of a refused request. */
export type Refusal = Exclude<ReceiveResult, { readonly status: unknown }>;

type Problem = readonly [
  status: number,
  detail: string,
  headers?: Readonly<Record<string, string>>,
];

const close = { Connection: "close" };
const retry = { "Retry-After": "5" };

const titles: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

const problems: Record<ProblemCode, Problem> = {
  method_not_allowed: [405, "Notifications are sent with POST.", { Allow: "POST" }],
  not_found: [404, "There is nothing at this address.", close],
  closing: [503, "This server is shutting down.", retry],
  overloaded: [503, "Too many notifications are waiting here.", retry],
  body_too_large: [413, "The body is over the limit, which is smaller without a signature.", close],
  body_timeout: [408, "The body did not arrive in time.", close],
  body_unavailable: [
    500,
    "Something ahead of the receiver consumed the body and left nothing: mount the receiver before it, or let it keep the raw body.",
  ],
  unsupported_media_type: [
    415,
    "A notification is JSON: Content-Type: application/json, and no Content-Encoding.",
  ],
  invalid_json: [400, "The body is not a JSON object."],
  missing_signature: [401, "The request carries no signature."],
  invalid_signature: [401, "The service did not make this signature."],
  expired_signature: [401, "The signature is older than 5 minutes."],
  inbox_unavailable: [503, "The notification could not be stored.", retry],
  not_handled: [503, "The notification was not handled."],
};

/**
 * Makes the answer to a result: the only place that picks a status code. The connection's last answer closes it; none closes a
 * shared one.
 */
export function answerTo(result: ReceiveResult, isShared = false, isLast = false): Answer {
  const isEnd = isLast && !isShared;
  if ("refused" in result) return problem(result.refused, isShared, isEnd);
  const type = "application/json";
  return {
    status: 200,
    headers: isEnd ? { "Content-Type": type, ...close } : { "Content-Type": type },
    body: `{"status":"${result.status}","id":"${result.id}"}`,
  };
}

function problem(code: ProblemCode, isShared: boolean, isEnd: boolean): Answer {
  const [status, detail, more] = problems[code];
  return {
    status,
    headers: {
      "Content-Type": "application/problem+json",
      ...(isShared && more === close ? {} : more),
      ...(isEnd && close),
    },
    body: JSON.stringify({ type: "about:blank", title: titles[status], status, code, detail }),
  };
}
