import { createServer, type RequestListener } from "node:http";
import { createServer as createRawServer } from "node:net";
import { inspect } from "node:util";
import { type Client, type ClientOptions, createClient } from "@reporthook/core";
import { listenLocally } from "@reporthook/test-support/listening";
import { expect, onTestFinished } from "vitest";

/** A key that no error may show, in any way of writing it. */
export const key = "canary-Key/9+z&'\"\\=%";

/** An HTTP server until the test is over. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return await listenLocally(server);
}

/** A server below HTTP: sends `bytes` after the first data of a caller, and hangs up. */
export async function serveRaw(bytes: string): Promise<string> {
  const server = createRawServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(bytes));
  });
  onTestFinished(() => {
    server.close();
  });
  return await listenLocally(server);
}

/** A server that has one answer. */
export const answering = (
  status: number,
  headers: Record<string, string> = {},
  body = "",
): Promise<string> =>
  serve((request, response) => {
    request.resume();
    response.writeHead(status, headers).end(body);
  });

/** A client with that key, of a service that nobody reaches unless told. */
export const clientOf = (options: Partial<ClientOptions>): Client =>
  createClient({ baseUrl: "https://a.example", apiKey: key, ...options });

/** All three operations, in every way of carrying the key. */
export function operations(
  options: Partial<ClientOptions> & Pick<ClientOptions, "baseUrl">,
): (() => Promise<unknown>)[] {
  const client = clientOf({ timeoutMs: 30_000, ...options });
  const byQuery = clientOf({ timeoutMs: 30_000, ...options, reportAuth: "query" });
  return [
    () => client.authorize("s"),
    () => client.testWebhook("https://app.example/"),
    () => client.requestReport({}),
    () => byQuery.requestReport({}),
  ];
}

/** The error that a promise rejects with. */
export const rejection = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    () => expect.unreachable("it resolved"),
    (thrown: unknown) => thrown,
  );

/** Everything that can be seen of an error, including its hidden properties. */
export function everythingIn(error: unknown, seen: Set<unknown> = new Set()): string {
  if (typeof error !== "object" || error === null || seen.has(error)) return String(error);
  seen.add(error);
  const own = Reflect.ownKeys(error).map((name) => everythingIn(Reflect.get(error, name), seen));
  const inspected = inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true });
  return [inspected, JSON.stringify(error), (error as Error).stack, ...own].join("\n");
}

/** The failure of every operation, in which the key is nowhere to be seen. */
export async function failures(
  options: Partial<ClientOptions> & { baseUrl: string },
  of: readonly (() => Promise<unknown>)[] = operations(options),
): Promise<any[]> {
  const errors = await Promise.all(of.map((operation) => rejection(operation())));
  for (const error of errors) expect(everythingIn(error)).not.toMatch(/canary|9(?:\+|%2b| )z/i);
  return errors;
}
