import {
  type Answer,
  alreadyRead,
  type BodyFailure,
  type BodyReading,
  fitting,
  type Incoming,
  readAlready,
} from "./incoming.ts";

/** What a serverless platform passes beside the request. */
export interface FetchContext {
  /** Keeps the instance alive until the promise is settled. */
  waitUntil?(promise: Promise<unknown>): void;
}

/**
 * A web standard request as the receiver takes it; `read` gives a body that something ahead has read and kept.
 *
 * @example const answer = await receiver.mount()(incomingFromRequest(request));
 */
export function incomingFromRequest(request: Request, read?: () => Promise<ArrayBuffer>): Incoming {
  return {
    method: request.method,
    url: pathAndQuery(request.url),
    headers: request.headers,
    readBody: (limit) => readBody(request, limit, read),
  };
}

/**
 * An answer as a web standard response.
 *
 * @example const response = toResponse(await receiver.mount()(incomingFromRequest(request)));
 */
export function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body, { status, headers });
}

function pathAndQuery(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.indexOf("#");
  return start === -1 ? "/" : url.slice(start, end === -1 ? undefined : end);
}

function readBody(
  request: Request,
  limit: number,
  read: (() => Promise<ArrayBuffer>) | undefined,
): BodyReading {
  if (request.bodyUsed) return readKept(read, limit);
  // A server lets no more through than was announced: no need for a stream, which costs more than all the rest.
  const announced = request.headers.get("content-length");
  if (announced !== null && Number(announced) <= limit) {
    const result = request.arrayBuffer().then(
      (body) => fitting(alreadyRead(body), limit),
      // Who holds the stream unread is something ahead; once it is read, the sender has cut it off.
      () => (request.bodyUsed ? "cut_off" : readKept(read, limit).result),
    );
    return { result, stop() {} };
  }
  if (request.body?.locked) return readKept(read, limit);
  const reader = request.body?.getReader();
  if (reader === undefined) return readAlready(new Uint8Array(), limit);
  // Not cancelled: some hosts end the connection then, and the answer with it.
  let stopped = false;
  const stop = (): void => {
    stopped = true;
  };
  return { result: collect(reader, limit, () => stopped), stop };
}

function readKept(read: (() => Promise<ArrayBuffer>) | undefined, limit: number): BodyReading {
  if (read === undefined) return readAlready("unavailable", limit);
  const result = read().then(
    (body) => fitting(alreadyRead(body), limit),
    (): BodyFailure => "unavailable",
  );
  return { result, stop() {} };
}

async function collect(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: number,
  isStopped: () => boolean,
): Promise<Uint8Array | BodyFailure> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return concat(chunks, size);
      if (isStopped()) return "cut_off";
      size += value.byteLength;
      if (size > limit) return "too_large";
      chunks.push(value);
    }
  } catch {
    return "cut_off";
  }
}

function concat(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}
