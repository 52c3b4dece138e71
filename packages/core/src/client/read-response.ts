import { tryGet } from "../lib/safe-get.ts";

/** The part of a `Response` that is used. */
export interface FetchResponse {
  readonly status: number;
  readonly type?: string;
  readonly redirected?: boolean;
  readonly headers: { get(name: string): string | null };
  /** A web stream, or one of Node as node-fetch gives; without either, `text` or `arrayBuffer` is called. */
  readonly body?: WebStream | AsyncIterable<Uint8Array | string> | null;
  text?(): Promise<string>;
  arrayBuffer?(): Promise<ArrayBuffer>;
}

interface WebStream {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
}

/** The part of a body that has arrived. */
export interface BodyText {
  text: string;
  /** Whether that is all of it. */
  isWhole: boolean;
}

const maxBodyBytes = 65_536;

/** Reads the first 64 KiB of a body, in the way that its answer can be read, and rejects when it breaks off. */
export async function readBody(
  response: FetchResponse,
  into: BodyText,
  signal: AbortSignal,
): Promise<void> {
  const decoder = new TextDecoder();
  let left = maxBodyBytes;
  for await (const piece of piecesOf(response, signal)) {
    const bytes = typeof piece === "string" ? new TextEncoder().encode(piece) : piece;
    into.text += decoder.decode(bytes.subarray(0, left), { stream: true });
    left -= bytes.byteLength;
    if (left < 0) return;
  }
  into.text += decoder.decode();
  into.isWhole = !signal.aborted;
}

async function* piecesOf(
  response: FetchResponse,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array | string, void> {
  const { body } = response;
  if (isWebStream(body)) yield* read(body, signal);
  else if (typeof body?.[Symbol.asyncIterator] === "function") yield* body;
  else if (typeof response.text === "function") yield await response.text();
  else if (typeof response.arrayBuffer === "function") {
    yield new Uint8Array(await response.arrayBuffer());
  } else if (body) throw new TypeError("The fetch given resolved to a body that can't be read");
}

function isWebStream(body: FetchResponse["body"]): body is WebStream {
  return typeof (body as Partial<WebStream> | null | undefined)?.getReader === "function";
}

async function* read(body: WebStream, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  const stop = () => void Promise.resolve(tryGet(() => reader.cancel())).catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || value === undefined) return;
      yield value;
    }
  } finally {
    stop();
  }
}

const beforePage = /^\s*(?:<\?xml[^>]*>\s*|<!--[\s\S]*?-->\s*)*/;
const pageStart = /^<(?:!--|(?:!doctype\s+html|html|head|body|meta|title|script|style)\b)/i;
const htmlType = /(?:^|,)\s*(?:text\/html|application\/xhtml)/i;

/** Whether an answer is a page for people, as of a proxy, a login or another site, or the beginning of one. */
export function isHtmlPage({ headers }: FetchResponse, { text, isWhole }: BodyText): boolean {
  // A service may call an empty answer or a word HTML: many frameworks do so by default.
  if (htmlType.test(tryGet(() => headers.get("content-type")) ?? ""))
    return !isWhole || /[<\ufffd]/.test(text);
  return pageStart.test(text.replace(beforePage, ""));
}
