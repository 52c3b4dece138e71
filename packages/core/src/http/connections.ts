import { InFlight, type InFlightItem } from "../lib/in-flight.ts";
import { type Clock, setUnrefTimeout } from "../lib/time/clock.ts";
import { endConnections, latest, type NodeConnection, type NodeServer } from "./closed-server.ts";
import type { Incoming } from "./incoming.ts";

/** Milliseconds that a connection of a closed server is waited for after its last delivery. */
const latelyMs = 5_000;

/** Milliseconds in which the last answers of a session arrive. */
const lastMs = 500;

/** The option of `close` that `shutdown` adds. */
export const serverEnd: unique symbol = Symbol.for("reporthook.serverEnd");

/** The end of a server: first it listens no longer, then it has no connection that may still ask. */
export interface ServerEnd {
  readonly allAccepted: Promise<void>;
  readonly ended: Promise<void>;
}

/** The options of `close`; it also waits for the end of a server. */
export interface CloseOptions {
  readonly timeoutMs?: number | undefined;
  readonly [serverEnd]?: ServerEnd;
}

/** A request on its way to the answer. */
interface SeenRequest extends InFlightItem {
  readonly deciding: Promise<unknown>;
  readonly connection: SeenConnection | undefined;
}

/** A connection that has reached the receiver. */
interface SeenConnection extends InFlightItem {
  readonly of: NodeConnection;
  readonly server: NodeServer;
  /** Ends the socket of a session, which would wait for the sender to end it. */
  readonly drop: (() => void) | undefined;
  /** The number of requests that are not answered yet. */
  running: number;
  deliveredAt: number;
}

/** The requests on their way, and the connections that they come on: `close` waits for those of closed servers, and has them end. */
export class Connections {
  /**
   * Resolves when an answer can be sent that ends its connection. While a server is about to listen no longer, its sender would
   * connect again at once, and the end of listening would reset that.
   */
  allAccepted: Promise<unknown> | null = null;
  readonly #clock: Clock;
  readonly #requests = new InFlight<SeenRequest>();
  readonly #known = new WeakMap<object, SeenConnection>();
  readonly #open = new InFlight<SeenConnection>();
  readonly #servers = new Set<NodeServer>();
  #closing = false;
  #holds = 0;
  #changed = (): void => {};
  #timer: unknown;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a request, whose answer is decided with a promise; its connection is unknown where Node's request is not seen. */
  begin(incoming: Incoming, deciding: Promise<unknown>): SeenRequest {
    const connection = this.#of(incoming);
    const request = { deciding, connection, place: -1 };
    if (connection !== undefined) {
      connection.running++;
      latest.set(connection.of, request);
    }
    this.#requests.add(request);
    return request;
  }

  /** Resolves when all requests of this moment are decided. */
  async decided(): Promise<void> {
    await Promise.allSettled([...this.#requests].map(({ deciding }) => deciding));
  }

  /** Ends a request, which was delivered or refused. Returns whether its answer ends the connection: the last one on its way. */
  end(request: SeenRequest, isDelivered: boolean): boolean {
    this.#requests.delete(request);
    const { connection } = request;
    if (connection === undefined) return this.#closing;
    connection.running--;
    if (isDelivered) connection.deliveredAt = this.#clock.now();
    this.#changed();
    return this.#closing && latest.get(connection.of) === request;
  }

  /** From now on each answer ends its connection, and on closed servers those of other routes, too. */
  close(): void {
    this.#closing = true;
    for (const server of this.#servers) endConnections(server);
    for (const { of } of this.#open) of.close?.();
  }

  /** Is not quiet before the server has ended. */
  hold({ allAccepted, ended }: ServerEnd): void {
    this.allAccepted = Promise.all([this.allAccepted, allAccepted]);
    this.#holds++;
    const release = (): void => {
      this.#holds--;
      this.#changed();
    };
    ended.then(release, release);
  }

  /** Whether no connection of a closed server has a request on its way, or has delivered within 5 seconds. */
  get isQuiet(): boolean {
    return this.#busyMs() <= 0;
  }

  /** Resolves once it is quiet. */
  async quiet(): Promise<void> {
    for (let ms = this.#busyMs(); ms > 0; ms = this.#busyMs()) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
        if (Number.isFinite(ms)) this.#timer = setUnrefTimeout(this.#clock, resolve, ms);
      });
      this.stop();
    }
  }

  /** Waits no longer. */
  stop(): void {
    this.#clock.clearTimeout(this.#timer);
  }

  /** Breaks, after so many milliseconds, the sessions of closed servers that are left: they would keep the process. */
  cut(ms: number): void {
    const open = [...this.#open].filter(({ of, server }) => of.close && !server.listening);
    const cut = (): void => {
      for (const { of, drop } of open) {
        of.destroy();
        drop?.();
      }
    };
    if (open.length > 0) setUnrefTimeout(this.#clock, cut, Math.max(lastMs, ms));
  }

  /** Milliseconds until it is quiet if nothing happens; infinite while something has to. */
  #busyMs(): number {
    if (this.#holds > 0) return Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    let ms = 0;
    for (const { server, running, deliveredAt } of this.#open) {
      if (server.listening !== false) continue;
      if (running > 0) return Number.POSITIVE_INFINITY;
      ms = Math.max(ms, Math.min(deliveredAt + latelyMs - now, latelyMs));
    }
    return ms;
  }

  #of(incoming: Incoming): SeenConnection | undefined {
    try {
      const connection = incoming.connection as NodeConnection | undefined;
      if (connection === undefined) return undefined;
      return this.#known.get(connection) ?? this.#see(connection);
    } catch {
      // A test's request, whose parts are none of Node's.
      return undefined;
    }
  }

  #see(of: NodeConnection): SeenConnection | undefined {
    const { server, destroyed } = of;
    if (typeof server?.prependListener !== "function" || destroyed) return undefined;
    const never = Number.NEGATIVE_INFINITY;
    // Later it is none of the session's any more.
    const drop = of.close && of.socket?.destroySoon;
    const seen = { of, server, drop, running: 0, deliveredAt: never, place: -1 };
    // Each receiver adds a listener: many of them are no leak.
    const listenersMax = of.getMaxListeners();
    if (listenersMax > 0) of.setMaxListeners(listenersMax + 1);
    of.once("close", () => {
      this.#open.delete(seen);
      this.#changed();
    });
    this.#known.set(of, seen);
    this.#open.add(seen);
    if (!this.#servers.has(server)) {
      for (const known of this.#servers) if (!known.listening) this.#servers.delete(known);
      this.#servers.add(server);
      if (this.#closing) endConnections(server);
    }
    if (this.#closing) of.close?.();
    return seen;
  }
}
