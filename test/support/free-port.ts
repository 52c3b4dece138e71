import { once } from "node:events";
import { createServer } from "node:net";

// Systems hand out ports from 32768 or 49152 on. No other listener or connection takes a port below those before its
// program listens, or while it restarts. Each test process has a separate range.
const each = 1_000;
const first = 20_000 + (Number(process.env["VITEST_POOL_ID"] ?? 0) % 12) * each;
let next = Math.floor(Math.random() * each);

/** A port without a listener, for a program that needs its number in advance. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < each; tries++) {
    const port = first + (next++ % each);
    const server = createServer().listen(port, "127.0.0.1");
    const isTaken = await once(server, "listening").then(
      () => false,
      () => true,
    );
    if (isTaken) continue;
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error(`All ports from ${first} on are taken`);
}
