import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Stands between an inbox and its server, and can keep back what they say. */
export interface Gate {
  readonly url: string;
  /** From now on nothing gets through, as if the other end had hung; connections stay open, new ones are taken. */
  hang(): void;
  /** As after a cut cable and a move: what is connected stays silent for good, new connections work. */
  cut(): void;
  /** Lets through what was kept back. */
  resume(): void;
  close(): void;
}

/** Opens a gate to the server at this URL. */
export async function openGate(target: string): Promise<Gate> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<readonly [Socket, Socket]>();
  let hanging = false;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [far, near]] as const) {
      from.on("data", (bytes) => void to.write(bytes));
      from.on("error", () => {});
      from.on("close", () => {
        to.destroy();
        pairs.delete(pair);
      });
      if (hanging) from.pause();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.port = `${(server.address() as AddressInfo).port}`;
  const each = (act: (socket: Socket) => void): void => {
    for (const pair of pairs) pair.forEach(act);
  };
  return {
    url: url.href,
    hang() {
      hanging = true;
      each((socket) => socket.pause());
    },
    cut() {
      each((socket) => socket.pause());
    },
    resume() {
      hanging = false;
      each((socket) => socket.resume());
    },
    close() {
      server.close();
      each((socket) => socket.destroy());
    },
  };
}
