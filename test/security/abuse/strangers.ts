import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Strangers who hold connections of a server, or send bytes that are no request. */
export class Strangers {
  readonly #port: number;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #sockets: Socket[] = [];
  readonly #answers = new Map<Socket, string>();

  constructor(port: number) {
    this.#port = port;
  }

  /** Connect and say nothing. */
  async idle(count: number): Promise<void> {
    await this.#open(count);
  }

  /** Send the beginning of a request and then a byte now and then, so that it never ends. */
  async slow(count: number, beginning: string, everyMs = 500): Promise<void> {
    for (const socket of await this.#open(count)) {
      socket.write(beginning);
      const timer = setInterval(() => socket.write("a"), everyMs);
      this.#timers.add(timer);
      socket.once("close", () => clearInterval(timer));
    }
  }

  /** Send all at once. */
  async send(count: number, text: string | Uint8Array): Promise<void> {
    for (const socket of await this.#open(count)) socket.write(text);
  }

  /** How many connections are still open. */
  get open(): number {
    return this.#sockets.filter(({ closed }) => !closed).length;
  }

  /** The statuses that were answered, and how often each. */
  get statuses(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const text of this.#answers.values()) {
      for (const [, status = ""] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) {
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
    }
    return counts;
  }

  leave(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Some at a time: connections beyond the queue of a busy server would be lost. */
  async #open(count: number): Promise<Socket[]> {
    const opened: Socket[] = [];
    while (opened.length < count) {
      const some = Math.min(100, count - opened.length);
      const sockets = Array.from({ length: some }, () => this.#connect());
      await Promise.all(sockets.map((socket) => once(socket, "connect")));
      opened.push(...sockets);
    }
    return opened;
  }

  #connect(): Socket {
    const socket = connect(this.#port, "127.0.0.1");
    this.#sockets.push(socket);
    socket.setEncoding("latin1").on("data", (part: string) => {
      this.#answers.set(socket, (this.#answers.get(socket) ?? "") + part);
    });
    // A connection that is closed while we write is reset.
    return socket.on("error", () => {});
  }
}
