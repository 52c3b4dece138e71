import {
  type Authorizer,
  createReceiver,
  type Inbox,
  memoryInbox,
  type NewDelivery,
  type Receiver,
  type ReceiverOptions,
} from "@reporthook/core";
import type { ProblemCode } from "@reporthook/core/telemetry";
import { same } from "../assert.ts";
import { problemDocuments } from "../problem-documents.ts";
import type { MountedReceiver, MountHost, Served } from "./host.ts";

/** A case as the files of cases write it. */
export type Definition = {
  readonly name: string;
  /** The feature that the host must offer. */
  readonly needs?: "sockets" | "shutdown" | "all methods";
} & (OnReceiver | { readonly runOn: (host: MountHost) => Promise<void> });

/** A case on one receiver that is mounted for it. */
interface OnReceiver extends MountFixtureOptions {
  readonly run: (fixture: MountFixture) => Promise<void>;
}

/** A request of a case; a signed report that is complete when nothing is said. */
export interface TestRequest {
  readonly method?: string;
  /** `valid-1`, `forged-1`, `old-1`: the stub of the service answers by the first word. Null for none. */
  readonly signature?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null;
  readonly query?: string;
}

/** An answer with its exact text. */
export interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A mounted receiver with what cases look at. */
export interface MountFixture {
  readonly host: MountHost;
  readonly receiver: Receiver;
  readonly served: Served;
  /** Everything handed to the inbox. */
  readonly stored: readonly NewDelivery[];
  send(request?: TestRequest): Promise<Got>;
  /** Sends and expects the problem document of this code. */
  refuses(code: ProblemCode, request?: TestRequest): Promise<void>;
  /** Sends and expects 200 with this status; resolves to the id. */
  takes(status: "accepted" | "duplicate", request?: TestRequest): Promise<string>;
}

/** The setup of a case. */
export interface MountFixtureOptions {
  readonly receiver?: Partial<ReceiverOptions>;
  readonly prepare?: (receiver: Receiver) => void;
  /** Replaces the inbox' `add`. */
  readonly add?: Inbox["add"];
  readonly consumed?: boolean;
  /** Called as soon as a request has reached the receiver, before its body is read. */
  readonly onRequest?: () => void;
}

/** A report that is complete. */
export const completeReport =
  '{"event_type":"report_status","status":"complete","report_id":"r-1"}';

/** A host that stands still for seconds is slow, and has broken no rule. */
const patient = { ackMs: 60_000, bodyMs: 60_000, verifyMs: 30_000 };

/** Answers by the signature's first word; anything else is invalid. */
const stubService: Authorizer = {
  authorize: async (signature) => {
    const [, kind] = /^(valid|old)-\d+$/.exec(signature) ?? [];
    return kind === "valid" ? "valid" : kind === "old" ? "expired" : "invalid";
  },
};

/** Mounts a receiver on the host, runs the case on it and closes both. */
export async function withMountFixture(
  host: MountHost,
  options: MountFixtureOptions,
  run: (fixture: MountFixture) => Promise<void>,
): Promise<void> {
  const stored: NewDelivery[] = [];
  const { multiplexed = false } = host;
  const inline = options.receiver?.ack === "handled";
  const receiver = createReceiver({
    client: stubService,
    logger: false,
    ...(inline ? {} : { inbox: watched(memoryInbox({ acceptLoss: true }), stored, options.add) }),
    ...options.receiver,
    limits: { ...patient, ...options.receiver?.limits },
  });
  options.prepare?.(receiver);
  const { consumed = false, onRequest } = options;
  const mounted = onRequest === undefined ? receiver : telling(receiver, onRequest);
  const served = await host.serve(mounted, { consumed });
  const send = (request: TestRequest = {}): Promise<Got> => sendTo(served, request);
  try {
    await run({
      host,
      receiver,
      served,
      stored,
      send,
      async refuses(code, request) {
        expectProblem(await send(request), code, {
          bodiless: request?.method === "HEAD" && (host.raw !== undefined || multiplexed),
          multiplexed,
        });
      },
      async takes(status, request) {
        const got = await send(request);
        same([got.status, got.headers.get("content-type")], [200, "application/json"], got.text);
        const { id } = JSON.parse(got.text) as { id: string };
        same(got.text, `{"status":"${status}","id":"${id}"}`, "the answer");
        expectLength(served, got);
        return id;
      },
    });
  } finally {
    await served.close();
    await receiver.close({ timeoutMs: 1_000 });
  }
}

/** Sends one request to the mounted receiver. */
export async function sendTo(served: Served, request: TestRequest): Promise<Got> {
  const { method = "POST", signature = "valid-1", headers, query = "" } = request;
  const { body = method === "POST" || method === "PUT" ? completeReport : null } = request;
  const init: RequestInit & { duplex: "half" } = {
    method,
    headers: {
      "content-type": "application/json",
      ...(signature !== null && { "x-svc-authorization": signature }),
      ...headers,
    },
    body,
    duplex: "half",
  };
  const response = await (served.fetch ?? fetch)(new Request(served.url + query, init));
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Expects the problem document of this code, byte for byte. */
export function expectProblem(
  got: Got,
  code: ProblemCode,
  { bodiless = false, multiplexed = false }: { bodiless?: boolean; multiplexed?: boolean } = {},
): void {
  const { status, headers: written, body } = problemDocuments[code];
  const headers = multiplexed && "connection" in written ? {} : written;
  const type = "application/problem+json";
  // No other headers may be there.
  const names = [...new Set([...Object.keys(written), "allow", "retry-after"])];
  same(
    [got.status, got.headers.get("content-type"), ...names.map((name) => onceIn(got, name))],
    [status, type, ...names.map((name) => headers[name] ?? null)],
    `the answer ${code} (${got.text})`,
  );
  same(got.text, bodiless ? "" : body, `the document ${code}`);
}

/** A header of an answer; servers may say once more that they close the connection. */
function onceIn({ headers }: Got, name: string): string | null {
  const value = headers.get(name);
  return value === "close, close" ? "close" : value;
}

/** Expects a content-length that counts bytes, wherever there are sockets. */
export function expectLength(served: Served, got: Got): void {
  if (served.fetch !== undefined) return;
  const bytes = new TextEncoder().encode(got.text).byteLength;
  same(got.headers.get("content-length"), String(bytes), "content-length");
}

function telling(receiver: Receiver, onRequest: () => void): MountedReceiver {
  return {
    mount() {
      const answer = receiver.mount();
      return (incoming, context) => {
        onRequest();
        return answer(incoming, context);
      };
    },
    fetch(request, context) {
      onRequest();
      return receiver.fetch(request, context);
    },
  };
}

function watched(inbox: Inbox, stored: NewDelivery[], instead?: Inbox["add"]): Inbox {
  const add: Inbox["add"] = (delivery, arrival) => {
    stored.push(delivery);
    return instead === undefined ? inbox.add(delivery, arrival) : instead(delivery, arrival);
  };
  return new Proxy(inbox, {
    get(target, name) {
      if (name === "add") return add;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
