// The load generator: raw sockets and requests that are built once. A general one spends more on a request than a bare
// server does, and would measure itself; the report shows the share of a core that this one used.
import { connect, type Socket } from "node:net";
import { createHistogram, performance, type RecordableHistogram } from "node:perf_hooks";
import { answerParent, tellParent } from "../child.ts";
import { prepare, type RequestOf, type Wanted } from "./requests.ts";

/** The load that the generator has to send. */
export interface Load extends Wanted {
  readonly connections: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  /** Requests a second, even when the server answers fewer; left out, each connection sends the next after the answer. */
  readonly rate?: number;
  /** Send only when told that it has its turn; what others do meanwhile counts neither as time nor as waiting. */
  readonly inSlices?: boolean;
  /** Go on until the server is gone; the answer is {@link Acknowledged}. */
  readonly untilGone?: boolean;
}

/** A message to the sending generator: to pause, or whether it has its turn. A turn ends once all requests are answered. */
export type Order = { readonly paused: boolean } | { readonly turn: boolean };

/** A message from the generator: its warm-up has ended, or its turn is over. */
export type News = { readonly measuring: true } | { readonly turnOver: true };

/** The generator's measurements; latencies in milliseconds. */
export interface Loaded {
  readonly perSecond: number;
  readonly answered: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** The share of one core that the generator used. */
  readonly generator: number;
}

/** The numbers of the requests that were answered before the server was gone. */
export interface Acknowledged {
  readonly acknowledged: readonly number[];
}

const burstMs = 1;
/** All connections read into this one buffer: a new buffer for each read would cost more than the requests do. */
const buffer = Buffer.alloc(65_536);

interface Listeners {
  /** With when it was sent, or was due. */
  onAnswer(connection: Connection, startedAt: number): void;
  onClosed(): void;
}

class Connection {
  readonly #socket: Socket;
  readonly #requestOf: RequestOf;
  /** That of the request that was sent last. */
  number = 0;
  #startedAt = 0;
  #received = "";

  constructor(port: number, requestOf: RequestOf, { onAnswer, onClosed }: Listeners) {
    this.#requestOf = requestOf;
    const read = (count: number): boolean => {
      this.#received += buffer.toString("latin1", 0, count);
      if (!isComplete(this.#received)) return true;
      if (!this.#received.startsWith("HTTP/1.1 200 ")) {
        const [status = "", body = ""] = this.#received.split(/\r\n(?:.*\r\n)*?\r\n/);
        throw new Error(`the server answered ${status} ${body}`);
      }
      this.#received = "";
      onAnswer(this, this.#startedAt);
      return true;
    };
    const onread = { buffer, callback: read };
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true, onread });
    this.#socket.on("error", () => {});
    this.#socket.on("close", onClosed);
  }

  send(number: number, startedAt: number): void {
    this.number = number;
    this.#startedAt = startedAt;
    this.#socket.write(this.#requestOf(number));
  }

  end(): void {
    this.#socket.removeAllListeners("close").destroy();
  }
}

function isComplete(answer: string): boolean {
  const end = answer.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1];
  return length === undefined
    ? answer.endsWith("0\r\n\r\n")
    : answer.length >= end + 4 + Number(length);
}

let paused = false;
let goOn = (): void => {};
let turns: OwnTurns;

/** The time in which it had its turn. */
class OwnTurns {
  #ranMs = 0;
  #since: number | null;
  #ending = false;

  constructor(isAlways: boolean) {
    this.#since = isAlways ? performance.now() : null;
  }

  /** Whether requests may be sent. */
  get maySend(): boolean {
    return this.#since !== null && !this.#ending;
  }

  /** How long it had its turn up to now, in milliseconds. */
  get ms(): number {
    return this.#ranMs + (this.#since === null ? 0 : performance.now() - this.#since);
  }

  begin(): void {
    this.#since = performance.now();
    this.#ending = false;
  }

  /** Sends nothing more; the turn goes on until the last answer. */
  end(): void {
    this.#ending = true;
  }

  /** To be called when all is answered. */
  answered(): void {
    if (!this.#ending || this.#since === null) return;
    this.#ranMs = this.ms;
    this.#since = null;
    tellParent({ turnOver: true } satisfies News);
  }

  /** Resolves when it had its turn for so many more milliseconds. */
  async last(ms: number): Promise<void> {
    const until = this.ms + ms;
    while (this.ms < until) await pause(Math.max(1, Math.min(until - this.ms, 20)));
  }
}

async function run(load: Load): Promise<Loaded | Acknowledged> {
  const { port, connections, warmUpMs, measureMs, rate, inSlices = false } = load;
  const { untilGone = false } = load;
  turns = new OwnTurns(!inSlices);
  const idle: Connection[] = [];
  const due: number[] = [];
  let latencies: RecordableHistogram | undefined;
  let number = 0;
  let answered = 0;
  let head = 0;
  const acknowledged: number[] = [];
  let isGone = (): void => {
    isGone = () => {};
    throw new Error("the server closed a connection");
  };
  const gone = new Promise<void>((resolve) => {
    if (untilGone) isGone = resolve;
  });

  const sendDue = (): void => {
    while (!paused && turns.maySend && idle.length > 0) {
      const startedAt = rate === undefined ? performance.now() : due[head++];
      if (startedAt === undefined) {
        head = due.length;
        return;
      }
      idle.pop()?.send(number++, startedAt);
    }
  };
  goOn = sendDue;
  const onAnswer = (connection: Connection, startedAt: number): void => {
    answered++;
    if (untilGone) acknowledged.push(connection.number);
    latencies?.record(Math.max(1, Math.round((performance.now() - startedAt) * 1_000)));
    idle.push(connection);
    sendDue();
    if (idle.length === connections) turns.answered();
  };
  const requests = prepare(load);
  const listeners = { onAnswer, onClosed: () => isGone() };
  const all = Array.from(
    { length: connections },
    () => new Connection(port, requests(), listeners),
  );
  idle.push(...all);

  // Requests come in bursts, one each tick, and each is measured from the moment it was due: a server (or a generator)
  // that falls behind does not get its load lightened.
  const startedAt = performance.now();
  let tick = 0;
  const ticking = setInterval(() => {
    if (rate === undefined) return;
    for (; startedAt + tick * burstMs <= performance.now(); tick++) {
      const count = Math.floor(((tick + 1) * rate * burstMs) / 1_000) - due.length;
      for (let i = 0; i < count; i++) due.push(startedAt + tick * burstMs);
    }
    sendDue();
  }, burstMs);
  sendDue();

  if (untilGone) {
    await gone;
    clearInterval(ticking);
    for (const connection of all) connection.end();
    return { acknowledged };
  }
  await turns.last(warmUpMs);
  latencies = createHistogram();
  tellParent({ measuring: true } satisfies News);
  const [before, cpu, from] = [answered, process.cpuUsage(), turns.ms];
  await turns.last(measureMs);
  const ms = turns.ms - from;
  const { user, system } = process.cpuUsage(cpu);
  const measured = answered - before;
  clearInterval(ticking);
  for (const connection of all) connection.end();
  return {
    perSecond: (measured / ms) * 1_000,
    answered: measured,
    p50: latencies.percentile(50) / 1_000,
    p99: latencies.percentile(99) / 1_000,
    max: latencies.max / 1_000,
    generator: (user + system) / 1_000 / ms,
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

answerParent((message: Load | Order) => {
  if ("port" in message) return run(message);
  if ("paused" in message) paused = message.paused;
  else if (message.turn) turns.begin();
  else turns.end();
  goOn();
  return undefined;
});
