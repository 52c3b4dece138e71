import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Stands between an inbox and its server, and can keep back what they say. */
export interface Gate {
  readonly url: string;
  /** From now on nothing gets through, as if the other end had hung; connections stay open, new ones are taken. */
  hang(): void;
  /** As after a cut cable and a move: what is connected stays silent for good, new connections work. */
  cut(): void;
  /** Keeps back the first answer that contains this text, or follows a request that does, and all after it on its connection. */
  holdAnswers(text: string): void;
  /** Whether an answer is kept back by that. */
  readonly holds: boolean;
  /** Ends what is connected, and drops what was kept back; new connections work. */
  sever(): void;
  /** Leads new connections to another server. */
  moveTo(target: string): void;
  /** Lets through what was kept back. */
  resume(): void;
  close(): void;
}

/** Opens a gate to the server at this URL. */
export async function openGate(target: string): Promise<Gate> {
  let to = new URL(target);
  let held: string | null = null;
  let holds = false;
  const pairs = new Set<readonly [Socket, Socket]>();
  let hanging = false;
  const server = createServer((near) => {
    const far = connect(Number(to.port), to.hostname);
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [from, other] of [pair, [far, near]] as const) {
      from.on("data", (bytes) => {
        const isHeld = held !== null && bytes.includes(held);
        if (isHeld) {
          far.pause();
          holds = true;
        }
        if (isHeld && from === far) far.unshift(bytes);
        else other.write(bytes);
      });
      from.on("error", () => {});
      from.on("close", () => {
        other.destroy();
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
    get holds() {
      return holds;
    },
    holdAnswers(text) {
      held = text;
      holds = false;
    },
    sever() {
      held = null;
      each((socket) => socket.destroy());
    },
    moveTo(target) {
      to = new URL(target);
    },
    resume() {
      hanging = false;
      held = null;
      each((socket) => socket.resume());
    },
    close() {
      server.close();
      each((socket) => socket.destroy());
    },
  };
}
