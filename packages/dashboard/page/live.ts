import { useEffect, useState } from "preact/hooks";
import { stillHere, type WireDone } from "../src/deliveries/wire.ts";

/** The state of the connection to the server. */
export type Link = "connecting" | "live" | "lost" | "refused";

/** The last data of the server, and the state of the connection. */
export interface LiveData<T> {
  readonly data: T | null;
  readonly link: Link;
  /** Why it refused last; null once it answers. */
  readonly problem: Denial | null;
}

/** A problem document of the server. */
export interface Denial {
  readonly title: string;
  readonly detail: string;
}

// A connection that is restored within this time does not count as lost.
const patienceMs = 2_500;
// Of a connection that is alive there is an event every 15 s.
const silentMs = 40_000;
const againMs = 2_000;
const maxMs = 30_000;

/**
 * Follows an address of the API: gets its data at once, and at each change. The known data stay while another address of the same
 * subject is loading.
 */
export function useLive<T>(address: string, subject: string): LiveData<T> {
  const nothing = { of: subject, data: null, link: "connecting", problem: null } as const;
  const [told, setTold] = useState<About<T>>(nothing);
  useEffect(() => {
    const set = (part: Partial<LiveData<T>>): void =>
      setTold((before) => ({ ...about(subject, before), ...part }));
    const connection = new LiveConnection<T>(address, set);
    return () => connection.close();
  }, [address, subject]);
  return about(subject, told);
}

interface About<T> extends LiveData<T> {
  /** The subject. */
  readonly of: string;
}

/** The data of a subject; if those of another one were told, only the state of the connection. */
function about<T>(subject: string, told: About<T>): About<T> {
  if (told.of === subject) return told;
  const link = told.link === "refused" ? "connecting" : told.link;
  return { of: subject, data: null, link, problem: null };
}

/** Follows an address while its page is visible, and connects again when the connection is lost. */
class LiveConnection<T> {
  readonly #address: string;
  readonly #set: (part: Partial<LiveData<T>>) => void;
  readonly #closing = new AbortController();
  #source: EventSource | undefined;
  #missing: ReturnType<typeof setTimeout> | undefined;
  #silent: ReturnType<typeof setTimeout> | undefined;
  #again: ReturnType<typeof setTimeout> | undefined;
  /** Asks why nothing is heard. */
  #asking: AbortController | undefined;
  #isLost = false;

  constructor(address: string, set: (part: Partial<LiveData<T>>) => void) {
    this.#address = address;
    this.#set = set;
    // Browsers open only a few connections to a server: hidden pages close theirs.
    const { signal } = this.#closing;
    const turn = (): void => {
      set({ link: "connecting" });
      this.#start();
    };
    document.addEventListener("visibilitychange", turn, { signal });
    this.#start();
  }

  close(): void {
    this.#closing.abort();
    this.#stop();
    this.#found();
  }

  #start(): void {
    this.#stop();
    if (document.hidden) {
      this.#found();
      return;
    }
    this.#source = new EventSource(this.#address);
    this.#source.onmessage = ({ data }: MessageEvent<string>) => {
      this.#found();
      this.#expect();
      this.#set({ data: JSON.parse(data) as T, link: "live", problem: null });
    };
    this.#source.addEventListener(stillHere, () => this.#expect());
    this.#source.onerror = () => this.#lose();
    this.#expect();
  }

  /** Expects an event: a connection may die without an error. */
  #expect(): void {
    clearTimeout(this.#silent);
    this.#silent = setTimeout(() => {
      this.#isLost = true;
      this.#set({ link: "lost" });
      this.#start();
    }, silentMs);
  }

  #stop(): void {
    this.#source?.close();
    clearTimeout(this.#silent);
    clearTimeout(this.#again);
  }

  #found(): void {
    clearTimeout(this.#missing);
    this.#missing = undefined;
    this.#asking?.abort();
    this.#asking = undefined;
    this.#isLost = false;
  }

  #lose(): void {
    this.#missing ??= setTimeout(() => {
      this.#isLost = true;
      this.#set({ link: "lost" });
      void this.#askWhy();
    }, patienceMs);
    const isClosed = this.#source?.readyState === EventSource.CLOSED;
    if (this.#isLost || isClosed) void this.#askWhy();
    if (!isClosed) return;
    clearTimeout(this.#again);
    this.#again = setTimeout(() => this.#start(), againMs);
  }

  async #askWhy(): Promise<void> {
    if (this.#asking !== undefined) return;
    const asking = new AbortController();
    this.#asking = asking;
    const refusal = await whyRefused(this.#address, asking.signal);
    // Meanwhile something else may be shown, or all may be well again.
    if (asking.signal.aborted) return;
    this.#asking = undefined;
    if (refusal !== null) this.#set(refusal);
  }
}

const titles: Readonly<Record<number, string>> = {
  400: "This inbox does not support this filter",
  401: "You are not signed in",
  403: "You may not view this page",
};

/**
 * Asks for the reason, which an EventSource does not get; null if there is no refusal, or none with a reason. Only a stream is
 * refused for too many pages, and only a plain answer tells why a view fails.
 */
async function whyRefused(
  address: string,
  signal: AbortSignal,
): Promise<Partial<LiveData<never>> | null> {
  try {
    let response = await fetch(address, { headers: { Accept: "text/event-stream" }, signal });
    if (response.ok) {
      await response.body?.cancel();
      response = await fetch(address, { signal });
    }
    const { ok, status } = response;
    if (ok) return null;
    // A login in front answers with its own page.
    const signIn = { detail: "Sign in, then reload this page." };
    const { detail } = status === 401 ? signIn : ((await response.json()) as Partial<Denial>);
    if (detail === undefined) return null;
    const problem = { title: titles[status] ?? "This page can’t be shown now", detail };
    // Of a server that can't answer now the last data stay.
    return { link: "refused", problem, ...(status < 500 && { data: null }) };
  } catch {
    return null;
  }
}

/** Has something done; rejects with what the server says when it was not. */
export async function post(address: string): Promise<number> {
  const headers = { "X-Reporthook": "1" };
  const signal = AbortSignal.timeout(maxMs);
  const response = await fetch(address, { method: "POST", headers, signal }).catch(
    ({ name }: Error) => {
      if (name !== "TimeoutError") throw new Error("The server is unreachable.");
      throw new Error(`No answer within ${maxMs / 1_000} s. The action may still succeed.`);
    },
  );
  // A proxy may answer with another page.
  const { done, detail } = (await response.json().catch(() => ({}))) as Partial<WireDone & Denial>;
  if (done === undefined) throw new Error(detail ?? `The server answered ${response.status}.`);
  return done;
}
