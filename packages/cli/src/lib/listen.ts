import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { CommandFailed } from "./errors.ts";

/**
 * Starts a server, and resolves to its URL without a path. Port 0 takes a free one.
 *
 * @throws CommandFailed `port_unavailable` or `host_unavailable` if it can't listen there
 */
export async function startListening(server: Server, port: number, host: string): Promise<string> {
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN"].includes(code)) {
      const problem = `${host} is not an address of this machine (${code})`;
      throw new CommandFailed("host_unavailable", `${problem}: choose another with --host`);
    }
    const problem = code === "EADDRINUSE" ? "is in use" : `on ${host} is unavailable (${code})`;
    const message = `Port ${port} ${problem}: choose another with --port`;
    throw new CommandFailed("port_unavailable", message);
  }
  const named = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const shown = named.includes(":") ? `[${named}]` : named;
  return `http://${shown}:${(server.address() as AddressInfo).port}`;
}

/**
 * Aborted by Ctrl-C, SIGTERM or when nobody reads the output, unless its user does so before; the reason is a CommandFailed
 * `interrupted`. A second signal ends the process.
 */
export function endOfCommand(): AbortController {
  const ending = new AbortController();
  const end = (): void => ending.abort(new CommandFailed("interrupted", "Interrupted"));
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, end);
  process.stdout.on("error", end);
  ending.signal.addEventListener("abort", () => {
    for (const signal of signals) process.off(signal, end);
    process.stdout.off("error", end);
  });
  return ending;
}
