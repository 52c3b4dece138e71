import { Server } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setUnrefTimeout, systemClock } from "../lib/time/clock.ts";
import { assertKnownKeys, assertMs, typeName } from "../lib/validate.ts";
import { endConnections, type NodeServer } from "./closed-server.ts";
import { type CloseOptions, type ServerEnd, serverEnd } from "./connections.ts";

/** Milliseconds that kept connections have to ask once more. */
const keptMs = 5_000;

/** Milliseconds of a turn of the event loop that has had nothing to do: a connection that comes later in it is reset. */
const quietMs = 0.1;

/** Most milliseconds that a server goes on listening for connections that are made already. */
const acceptMs = 1_000;

/** The members used of a server of HTTP/1, which that of HTTP/2 lacks. */
interface KeepsConnections {
  keepAliveTimeout?: number;
  closeIdleConnections?(): void;
  closeAllConnections?(): void;
}

const ends = new WeakMap<Server, ServerEnd>();

/**
 * Shuts a server and its receiver down, so that nothing is lost that reaches them: the server stops listening, kept connections
 * ask once more or end within 5 seconds, then the receiver is closed. `timeoutMs` (25,000) is for all of it: then connections
 * that are still open are broken, and the inbox has at least 2,000 milliseconds to close. Several receivers on one server: one
 * call for each. Rejects as `close` does, and with a TypeError for a wrong argument.
 *
 * @example
 * const server = http.createServer(nodeHandler(receiver)).listen(3000);
 * process.once("SIGTERM", () => shutdown(server, receiver));
 */
export async function shutdown(
  server: Server,
  receiver: { close(options?: { readonly timeoutMs?: number | undefined }): Promise<void> },
  options: { readonly timeoutMs?: number | undefined } = {},
): Promise<void> {
  check("server", "what app.listen(), createServer() or serve() returned", server, "listening");
  check("receiver", "what createReceiver() returned", receiver, "mount");
  assertKnownKeys("shutdown", options, ["timeoutMs"]);
  const { timeoutMs = 25_000 } = options;
  assertMs("shutdown: timeoutMs", timeoutMs);
  const end = ends.get(server) ?? stopListening(server, timeoutMs);
  ends.set(server, end);
  const closing: CloseOptions = { timeoutMs, [serverEnd]: end };
  await receiver.close(closing);
}

/** Ends when the last connection has ended, or those that are kept have had their time; `timeoutMs` later none is left. */
function stopListening(server: Server & KeepsConnections, timeoutMs: number): ServerEnd {
  endConnections(server as unknown as NodeServer);
  const { keepAliveTimeout = keptMs } = server;
  if (keepAliveTimeout === 0 || keepAliveTimeout > keptMs) server.keepAliveTimeout = keptMs;
  const cut = setUnrefTimeout(systemClock, () => server.closeAllConnections?.(), timeoutMs);
  // That of Node's HTTP servers ends idle connections at once, and resets a request that is on its way.
  const { close } = server instanceof Server ? Server.prototype : (server as Server);
  const accepted = allAccepted(server);
  const end = (resolve: () => void): void => {
    const timer = setTimeout(() => {
      if (server.closeIdleConnections === undefined) server.close();
      else server.closeIdleConnections();
      resolve();
    }, keptMs);
    timer.unref?.();
    close.call(server, () => {
      systemClock.clearTimeout(cut);
      clearTimeout(timer);
      resolve();
    });
  };
  return { allAccepted: accepted, ended: accepted.then(() => new Promise(end)) };
}

/** Resolves when no connection waits to be accepted: Node accepts one in a turn, and the end of listening resets the others. */
async function allAccepted(server: Server): Promise<void> {
  let at = 0;
  const accepted = (): void => {
    at = 0;
  };
  server.on("connection", accepted);
  const end = performance.now() + acceptMs;
  while (performance.now() < end && performance.now() - at >= quietMs) {
    await nextTurn();
    // More may have come since a turn began that was long.
    at = performance.now();
    await nextTurn();
  }
  server.off("connection", accepted);
}

function check(name: string, expected: string, given: unknown, member: string): void {
  if (typeof given === "object" && given !== null && member in given && "close" in given) return;
  throw new TypeError(
    `shutdown: the ${name} must be ${expected}, not ${typeName(given)}: write shutdown(server, receiver)`,
  );
}
