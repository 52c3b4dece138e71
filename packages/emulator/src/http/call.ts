import { Refused } from "./answer.ts";

/** One request to the service, in process or over a socket. */
export interface IncomingCall {
  readonly method: string;
  readonly url: URL;
  header(name: string): string | null;
  /** Reads the whole body; throws `Refused` (413) if it is larger than `CALL_BYTES`. */
  readBody(): Promise<Uint8Array>;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
}

/** Maximum size of a request body, in bytes. */
export const CALL_BYTES = 1_048_576;

/** Creates the refusal of a body with more than `CALL_BYTES`. */
export function bodyTooLarge(): Refused {
  return new Refused(413, [`The body must have at most ${CALL_BYTES} bytes.`]);
}

/** Reads a JSON object (the service's document, sections 2 and 3: Request body). */
export async function readFields(call: IncomingCall): Promise<Record<string, unknown>> {
  const bytes = await call.readBody();
  call.signal.throwIfAborted();
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Refused(400, ["The body must be JSON."]);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Refused(400, ["The body must be a JSON object."]);
  }
  return value as Record<string, unknown>;
}

/** Whether a value is an absolute http or https URL. */
export function isWebhookUrl(value: unknown): value is string {
  return typeof value === "string" && /^https?:\/\//i.test(value) && URL.canParse(value);
}
