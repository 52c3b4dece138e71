// Builds requests before they are sent: the generator's work on them must not be measured.
import { createHmac, randomUUID } from "node:crypto";
import { bodyBytes, bodyOf, eight, signatureOf } from "../deliveries.ts";

/** Whose signatures and path the requests have: the service's, or those that a library expects. */
export type Scheme = "reports" | "github" | "slack" | "standard";

/** The secret that sender and server of every scheme share. */
export const secret = "bm90IGEgc2VjcmV0LCBidXQgYSBiZW5jaG1hcms=";

/** Which requests to build. */
export interface Wanted {
  readonly port: number;
  readonly scheme?: Scheme;
  readonly bodyBytes?: number;
  /** In turns at the paths of so many receivers. */
  readonly receivers?: number;
}

/** The request with a number: the same memory may be used for the next. */
export type RequestOf = (number: number) => Buffer;

/** Signed requests repeat after so many; the service's never do. */
const signedCount = 20_000;

/** Prepares requests; call the result once for each connection. */
export function prepare(wanted: Wanted): () => RequestOf {
  const { scheme = "reports" } = wanted;
  if (scheme === "reports") return () => numbered(wanted);
  const all = Array.from({ length: signedCount }, (_, number) => {
    const body = bodyOf(eight(number), wanted.bodyBytes);
    const { path, headers } = signers[scheme](body, eight(number));
    return Buffer.from(requestText(wanted.port, path, headers, body), "latin1");
  });
  return () => (number) => all[number % signedCount] as Buffer;
}

const marker = "########";
const place = "@@@";

/** One request in which the numbers are replaced: any signature is valid for a service that is only asked. */
function numbered({ port, bodyBytes: bytes = bodyBytes, receivers = 1 }: Wanted): RequestOf {
  const path = `/webhooks/reports${receivers > 1 ? `/${place}` : ""}`;
  const headers = { "X-svc-authorization": signatureOf(marker) };
  const text = requestText(port, path, headers, bodyOf(marker, bytes));
  const request = Buffer.from(text, "latin1");
  const [first, last, receiver] = [
    text.indexOf(marker),
    text.lastIndexOf(marker),
    text.indexOf(place),
  ];
  return (number) => {
    const written = eight(number);
    request.write(written, first, "latin1");
    request.write(written, last, "latin1");
    if (receivers > 1) {
      request.write(String(number % receivers).padStart(3, "0"), receiver, "latin1");
    }
    return request;
  };
}

function requestText(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): string {
  const all = {
    Host: `127.0.0.1:${port}`,
    "User-Agent": "reports/1.0",
    Accept: "*/*",
    "Content-Type": "application/json",
    "Content-Length": String(body.length),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `POST ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}

type Signer = (
  body: string,
  number: string,
) => { readonly path: string; readonly headers: Readonly<Record<string, string>> };

const hmac = (text: string, key: string | Buffer = secret) =>
  createHmac("sha256", key).update(text);
const nowInSeconds = (): string => String(Math.floor(Date.now() / 1_000));

const signers: Record<Exclude<Scheme, "reports">, Signer> = {
  github: (body) => ({
    path: "/api/github/webhooks",
    headers: {
      "X-GitHub-Event": "issues",
      "X-GitHub-Delivery": randomUUID(),
      "X-Hub-Signature-256": `sha256=${hmac(body).digest("hex")}`,
    },
  }),
  slack: (body) => {
    const time = nowInSeconds();
    const signature = hmac(`v0:${time}:${body}`).digest("hex");
    return {
      path: "/slack/events",
      headers: { "X-Slack-Request-Timestamp": time, "X-Slack-Signature": `v0=${signature}` },
    };
  },
  standard: (body, number) => {
    const [id, time] = [`msg_${number}`, nowInSeconds()];
    const key = Buffer.from(secret, "base64");
    const signature = hmac(`${id}.${time}.${body}`, key).digest("base64");
    return {
      path: "/webhooks/reports",
      headers: {
        "webhook-id": id,
        "webhook-timestamp": time,
        "webhook-signature": `v1,${signature}`,
      },
    };
  },
};
