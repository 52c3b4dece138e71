import { once } from "node:events";
import { createServer } from "node:net";

// Systems hand out ports from 32768 on, or from 49152. Of those below, nobody who listens on any port or connects to
// somewhere takes one before its program listens, or while that is started again. Each test process has its own.
const each = 1_000;
const first = 20_000 + (Number(process.env["VITEST_POOL_ID"] ?? 0) % 12) * each;
let next = Math.floor(Math.random() * each);

/** A port that nobody listens on, for a program that has to be told one. */
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
