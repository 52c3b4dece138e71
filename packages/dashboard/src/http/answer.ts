const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const always: Readonly<Record<string, string>> = {
  "Content-Security-Policy": policy,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** A response with the headers that every one of ours has; not kept by anybody unless told. */
export function answer(
  status: number,
  body: string | ArrayBuffer | ReadableStream<Uint8Array> | null,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, {
    status,
    headers: { "Cache-Control": "no-store", ...always, ...headers },
  });
}

/** JSON, as text. */
export function json(text: string): Response {
  return answer(200, text, { "Content-Type": "application/json" });
}

/** Problem details (RFC 9457). */
export function problem(
  status: number,
  code: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const body = JSON.stringify({ type: "about:blank", title: code, status, code, detail });
  return answer(status, body, { "Content-Type": "application/problem+json", ...headers });
}
