import { patiently, same } from "../assert.ts";
import { deferred } from "../deferred.ts";
import { runtimeModule } from "../runtime.ts";
import { completeReport, type Definition, type MountFixture } from "./fixture.ts";

/** The members used of a request of Node. */
interface NodeRequest {
  readonly headers: Readonly<Record<string, unknown>>;
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
}

interface Channels {
  subscribe(channel: string, listener: (message: object) => void): void;
  unsubscribe(channel: string, listener: (message: object) => void): void;
}

/** A report that comes in more than one piece, and is below every parser's limit. */
const longReport = `{"status":"complete","report_id":"größe","x":"${"x".repeat(60_000)}"}`;

/** Changes the request of Node ahead of the receiver, on any framework. */
const aheads: Readonly<Record<string, (req: NodeRequest) => void>> = {
  "something ahead still collects it as text": (req) => {
    const kept = Object.assign(req, { rawBody: "" });
    const decoder = new TextDecoder();
    req.on("data", (chunk) => {
      kept.rawBody += decoder.decode(chunk, { stream: true });
    });
  },
  "something ahead listens, and keeps nothing": (req) => {
    req.on("data", () => {});
  },
  "something ahead keeps its beginning only": (req) => {
    // Of unknown length, a part can't be told from the whole.
    if (req.headers["content-length"] === undefined) return;
    const kept = Object.assign(req, { rawBody: Buffer.alloc(0) });
    req.on("data", (chunk) => {
      kept.rawBody = Buffer.concat([kept.rawBody, chunk]).subarray(0, 20);
    });
  },
  "something ahead has made an empty rawBody, as text": (req) => {
    Object.assign(req, { rawBody: "" });
  },
  "something ahead has made an empty rawBody, as bytes": (req) => {
    Object.assign(req, { rawBody: Buffer.alloc(0) });
  },
  "something ahead has a getter for it that throws": (req) => {
    Object.defineProperty(req, "body", {
      configurable: true,
      get() {
        throw new Error("no look at the body");
      },
      // A parser that comes next leaves its own.
      set(value) {
        Object.defineProperty(req, "body", { value, writable: true });
      },
    });
  },
};

/** The middleware ahead of the receiver, as apps have it. */
export const aheadCases: readonly Definition[] = [
  ...Object.entries(aheads).map(
    ([name, ahead]): Definition => ({
      name: `the body is stored where ${name}`,
      needs: "sockets",
      async run({ takes, stored }) {
        let isReached = false;
        const arrived = deferred();
        const first = (req: NodeRequest): void => {
          isReached = true;
          ahead(req);
        };
        const second = (req: NodeRequest): void => {
          ahead(req);
          arrived.resolve();
        };
        await onRequests(first, (headers) => takes("accepted", { headers, body: longReport }));
        same(textOf(stored[0]?.body), longReport, "what is stored");
        // Other servers than Node's tell of no request.
        if (!isReached) return;
        await onRequests(second, (headers) => {
          const body = inChunks(longReport, arrived.promise);
          return takes("accepted", { headers, body, signature: "valid-2" });
        });
        same(textOf(stored[1]?.body), longReport, "what is stored of chunks");
      },
    }),
  ),
  {
    name: "the body is stored where its bytes are of another realm",
    async run(fixture) {
      const bytes = foreign(completeReport);
      if (bytes === null) return;
      if (fixture.host.raw === undefined) await takesForeign(fixture, bytes);
      else {
        await onRequests(
          (req) => void Object.assign(req, { rawBody: bytes }),
          (headers) => fixture.takes("accepted", { headers }),
        );
      }
      same(textOf(fixture.stored[0]?.body), completeReport, "the stored body");
    },
  },
];

/** A body of unknown length in two pieces, the second once `arrived` resolves. */
function inChunks(text: string, arrived: Promise<void>): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start: (controller) => controller.enqueue(bytes.subarray(0, 20)),
    async pull(controller) {
      await patiently(arrived, "the request arrives before its body has", 60_000);
      controller.enqueue(bytes.subarray(20));
      controller.close();
    },
  });
}

/** Without a socket, where the request is handed over as it is. */
async function takesForeign(
  { served }: MountFixture,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const request = new Request(served.url, {
    method: "POST",
    headers: { "content-length": String(bytes.byteLength), "x-svc-authorization": "valid-1" },
    body: completeReport,
  });
  Object.assign(request, { arrayBuffer: async () => bytes.buffer });
  same((await served.fetch?.(request))?.status, 200, "the status");
}

/** Does something to the requests that carry the headers which `send` is given, as soon as Node has their heads. */
async function onRequests(
  ahead: (req: NodeRequest) => void,
  send: (headers: Readonly<Record<string, string>>) => Promise<unknown>,
): Promise<void> {
  const { subscribe, unsubscribe } = runtimeModule<Channels>("node:diagnostics_channel");
  const channel = "http.server.request.start";
  const mark = crypto.randomUUID();
  const listener = (message: object): void => {
    const { request } = message as { readonly request: NodeRequest };
    if (request.headers["x-case"] === mark) ahead(request);
  };
  subscribe?.(channel, listener);
  try {
    await send({ "x-case": mark });
  } finally {
    unsubscribe?.(channel, listener);
  }
}

/** Bytes of another realm, or null where there is none. */
function foreign(text: string): Uint8Array<ArrayBuffer> | null {
  const { runInNewContext } = runtimeModule<{ runInNewContext(code: string): unknown }>("node:vm");
  const bytes = [...new TextEncoder().encode(text)];
  try {
    const made = runInNewContext?.(`Uint8Array.of(${bytes.join()})`);
    return made === undefined ? null : (made as Uint8Array<ArrayBuffer>);
  } catch {
    return null;
  }
}

function textOf(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}
