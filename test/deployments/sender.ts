import { Agent, type ClientRequest, request } from "node:http";
import type { Socket } from "node:net";
import type { Emulator } from "@reporthook/emulator";

const tickMs = 10;

/** The load of a sender. */
export interface Traffic {
  /** Notifications a second, if the machine is fast enough. */
  readonly perSecond: number;
  /** Most connections at a time. */
  readonly connections: number;
}

/** How many notifications had which end. */
export interface Counts {
  sent: number;
  /** Answers by status. */
  readonly answers: Record<number, number>;
  /** The errors of connections that had carried an answer before, each with the milliseconds since that. */
  readonly reset: string[];
  /** Connections that were refused, or reset before their first answer: no process takes connections. */
  refused: number;
}

/** Sends notifications at a rate over kept connections, as the agent of any HTTP client does, and sends none twice. */
export class Sender {
  readonly counts: Counts = { sent: 0, answers: {}, reset: [], refused: 0 };
  /** The reports whose notifications were acknowledged. */
  readonly acknowledged: string[] = [];
  readonly #agent: Agent;
  readonly #open = new Set<Promise<void>>();
  readonly #waiting = new Set<() => void>();
  readonly #answeredAt = new WeakMap<Socket, number>();
  readonly #emulator: Emulator;
  readonly #traffic: Traffic;
  #port = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(emulator: Emulator, traffic: Traffic) {
    this.#emulator = emulator;
    this.#traffic = traffic;
    this.#agent = new Agent({ keepAlive: true, maxSockets: traffic.connections });
  }

  /** Begins to send to a port of this machine. */
  start(port: number): void {
    this.#port = port;
    const { connections, perSecond } = this.#traffic;
    const startedAt = performance.now();
    let due = 0;
    this.#timer = setInterval(() => {
      const until = ((performance.now() - startedAt) * perSecond) / 1_000;
      for (; due < until; due++) {
        // A slower machine is sent less.
        if (this.#open.size < connections) this.#begin().finish();
      }
    }, tickMs);
  }

  /** Sends some at once. */
  send(count: number): void {
    for (let one = 0; one < count; one++) this.#begin().finish();
  }

  /** Sends the first half of some; resolves once they are on their way, to what sends the rest. */
  async sendHalf(count: number): Promise<() => void> {
    const halves = Array.from({ length: count }, () => this.#begin());
    await Promise.all(halves.map(({ underWay }) => underWay));
    return () => {
      for (const { finish } of halves) finish();
    };
  }

  /** Resolves when so many more are acknowledged. */
  async acknowledgedMore(count: number): Promise<void> {
    const enough = this.acknowledged.length + count;
    while (this.acknowledged.length < enough) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Sends no more; resolves when all that were sent have had their end. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#open);
    this.#agent.destroy();
  }

  #begin(): { readonly underWay: Promise<void>; finish(): void } {
    const reportId = `r-${++this.counts.sent}`;
    const { headers, body, method } = this.#emulator.notification("report.complete", { reportId });
    const bytes = Buffer.from(body);
    const half = bytes.length >> 1;
    const sent = request({
      agent: this.#agent,
      host: "127.0.0.1",
      port: this.#port,
      path: "/",
      method,
      headers: { ...headers, "content-length": bytes.length },
    });
    const end = this.#endOf(sent, reportId);
    this.#open.add(end);
    void end.then(() => {
      this.#open.delete(end);
      for (const wake of this.#waiting) wake();
      this.#waiting.clear();
    });
    const written = new Promise<void>((resolve) => {
      sent.write(bytes.subarray(0, half), () => resolve());
    });
    return {
      underWay: Promise.race([written, end]),
      finish: () => void sent.end(bytes.subarray(half)),
    };
  }

  /** Counts the end of one. */
  #endOf(sent: ClientRequest, reportId: string): Promise<void> {
    const { acknowledged, counts } = this;
    return new Promise((resolve) => {
      let answered = false;
      let why = "";
      let idleMs = 0;
      sent.once("socket", (socket) => {
        idleMs = performance.now() - (this.#answeredAt.get(socket) ?? 0);
      });
      sent.once("response", (response) => {
        const { socket } = response;
        const status = response.statusCode ?? 0;
        response.resume().once("end", () => {
          answered = true;
          this.#answeredAt.set(socket, performance.now());
          counts.answers[status] = (counts.answers[status] ?? 0) + 1;
          if (status >= 200 && status < 300) acknowledged.push(reportId);
        });
      });
      // Each error is followed by it.
      sent.on("error", ({ message }) => {
        why ||= message;
      });
      sent.once("close", () => {
        if (!answered && sent.reusedSocket)
          counts.reset.push(`${why} after ${Math.round(idleMs)} ms`);
        else if (!answered) counts.refused++;
        resolve();
      });
    });
  }
}
