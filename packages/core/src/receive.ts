import type { ProblemCode } from "./acknowledge.ts";
import { type Clock, quietTimeout } from "./clock.ts";
import type { KeptHeaders } from "./delivery.ts";
import { headerOf, type Incoming, plainHeaders } from "./incoming.ts";
import { type Parse, type Recognition, recognize, toObject } from "./parse.ts";

/** The `signature` option: a header's name, or a function that finds the signature. */
export type SignatureSource =
  | string
  | ((request: {
      readonly headers: Readonly<Record<string, string>>;
      readonly url: string;
      /** The body as text. */
      readonly body: string;
    }) => string | null | undefined);

/** What reading a request needs to know. */
export interface ReceiveOptions {
  readonly clock: Clock;
  readonly signature: SignatureSource;
  readonly parse?: Parse | undefined;
  /** Most bytes of a body. */
  readonly bodyBytes: number;
  /** Milliseconds for the body to arrive. */
  readonly bodyMs: number;
}

/** A request's bytes and what was read off them: nothing here is verified. */
export interface Notification {
  readonly url: string;
  readonly headers: KeptHeaders;
  readonly body: Uint8Array;
  readonly signature: string | null;
  /** What an unsigned body says it is; signed ones are looked into once they are verified. */
  readonly claims: Recognition | null;
}

/** Most bytes of a body without a signature. */
export const unsignedBodyBytes = 4_096;
const keptHeaders = ["content-type", "user-agent", "traceparent"];

/** Reads a request, bounded in size and time; refuses only what can't be genuine. */
export async function receive(
  incoming: Incoming,
  options: ReceiveOptions,
): Promise<Notification | ProblemCode> {
  const body = await readBody(incoming, options);
  if (typeof body === "string") return body;
  const { url, headers } = incoming;
  const signature = signatureOf(incoming, options.signature, body);
  const notification: Notification = {
    url,
    headers: kept(incoming),
    body,
    signature,
    claims: null,
  };
  if (signature !== null) return notification;

  if (body.byteLength > unsignedBodyBytes) return "body_too_large";
  if (!isPlainJson(headers)) return "unsupported_media_type";
  const object = toObject(body);
  if (object === null) return "invalid_json";
  return { ...notification, claims: recognize(object, notification.headers, options.parse) };
}

async function readBody(
  incoming: Incoming,
  { clock, bodyBytes, bodyMs }: ReceiveOptions,
): Promise<Uint8Array | ProblemCode> {
  if (Number(headerOf(incoming.headers, "content-length")) > bodyBytes) return "body_too_large";
  const reading = incoming.readBody(bodyBytes);
  let timer: unknown;
  const late = new Promise<"late">((resolve) => {
    timer = quietTimeout(clock, () => resolve("late"), bodyMs);
  });
  const body = await Promise.race([reading.result, late]);
  clock.clearTimeout(timer);
  if (typeof body !== "string") return body;
  reading.stop();
  if (body === "too_large") return "body_too_large";
  return body === "unavailable" ? "body_unavailable" : "body_timeout";
}

function signatureOf(
  { headers, url }: Incoming,
  source: SignatureSource,
  body: Uint8Array,
): string | null {
  const found =
    typeof source === "string"
      ? headerOf(headers, source.toLowerCase())
      : source({ headers: plainHeaders(headers), url, body: new TextDecoder().decode(body) });
  const signature = typeof found === "string" ? found.trim() : "";
  return signature === "" ? null : signature;
}

function kept({ headers }: Incoming): KeptHeaders {
  const result: Record<string, string> = {};
  for (const name of keptHeaders) {
    const value = headerOf(headers, name);
    if (value !== null) result[name] = value.slice(0, 1_024);
  }
  return result;
}

function isPlainJson(headers: Incoming["headers"]): boolean {
  const encoding = headerOf(headers, "content-encoding")?.trim().toLowerCase() ?? "identity";
  const type = headerOf(headers, "content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  return encoding === "identity" && (type === "" || /^[a-z]+\/([a-z0-9.+-]+\+)?json$/.test(type));
}
