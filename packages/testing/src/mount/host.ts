import type { Receiver } from "@reporthook/core";

/** The receiver that a host mounts, or a stand-in with a fixed answer. */
export type MountedReceiver = Pick<Receiver, "mount" | "fetch">;

/** A receiver that is mounted and can be reached. */
export interface Served {
  /** Where notifications go, prefix included, without a query. */
  readonly url: string;
  /** Replaces the global `fetch` where there is no socket. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Shuts the server down with its receiver, by `shutdown` of `@reporthook/core/node`. */
  shutdown?(receiver: Receiver): Promise<void>;
  close(): Promise<void>;
}

/** A connection, as a sender sees it. */
export interface RawConnection {
  send(text: string): void;
  /** Resolves once all that has come ends with this text. */
  until(end: string): Promise<void>;
  /** Resolves to all that came, once the server has closed the connection. */
  readonly ended: Promise<string>;
}

/** One way to mount a receiver; {@link mountContract} runs on it. */
export interface MountHost {
  /** Whether every method reaches the receiver, or only POST (`app.post`). */
  readonly methods: "all" | "post";
  /** Mounts it and serves it; with `consumed`, something ahead reads the body and leaves nothing. */
  serve(receiver: MountedReceiver, options: { readonly consumed: boolean }): Promise<Served>;
  /** Whether requests share a connection, as in HTTP/2: then no answer closes it. */
  readonly multiplexed?: boolean;
  /** Sends this text over a new connection to `url` and resolves to all that came back once the server has closed it. */
  readonly raw?: (url: string, text: string) => Promise<string>;
  /** Opens a connection to `url`; with it, `shutdown` is needed, too. */
  readonly connect?: (url: string) => Promise<RawConnection>;
  /** Cases that can't hold here, by name, each with its reason. */
  readonly skip?: Readonly<Record<string, string>>;
}

/** One promise of the contract, for any test runner: `test(one.name, one.run)`. */
export interface MountCase {
  readonly name: string;
  /** Why it can't hold on this host; `run` then tells the runner's context to skip, and does nothing. */
  readonly skip: string | undefined;
  /** Rejects when the promise is broken. */
  readonly run: (...context: readonly unknown[]) => Promise<void>;
}
