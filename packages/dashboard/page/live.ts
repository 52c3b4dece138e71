import { useEffect, useState } from "preact/hooks";
import type { WireDone } from "../src/deliveries/wire.ts";

/** The state of the connection to the server. */
export type Link = "connecting" | "live" | "lost" | "refused";

/** The last data of the server, and the state of the connection. */
export interface LiveData<T> {
  readonly data: T | null;
  readonly link: Link;
  /** Why it refuses. */
  readonly problem: Problem | null;
}

/** A problem document of the server. */
export interface Problem {
  readonly title: string;
  readonly detail: string;
}

// A connection that is restored within this time does not count as lost.
const patienceMs = 2_500;
const againMs = 2_000;
const maxMs = 30_000;

/**
 * Follows an address of the API: gets its data at once, and at each change. The known data stay while another address of the same
 * subject is loading.
 */
export function useLive<T>(address: string, subject: string = address): LiveData<T> {
  const [told, setTold] = useState<LiveData<T> & { readonly of: string }>({
    ...{ data: null, link: "connecting", problem: null },
    of: subject,
  });
  useEffect(() => {
    let isOver = false;
    let source: EventSource | undefined;
    let missing: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let heard = 0;
    let isLost = false;
    const asking = new AbortController();
    const set = (part: Partial<LiveData<T>>): void =>
      setTold((before) => ({
        ...(before.of === subject ? before : withoutData(before)),
        ...part,
        of: subject,
      }));
    const stop = (): void => {
      source?.close();
      clearTimeout(again);
    };
    const found = (): void => {
      clearTimeout(missing);
      missing = undefined;
      isLost = false;
    };
    let isAsking = false;
    const ask = async (): Promise<void> => {
      if (isAsking) return;
      isAsking = true;
      const before = heard;
      const problem = await whyRefused(address, asking.signal);
      isAsking = false;
      // Meanwhile something else may be shown, or all may be well again.
      if (problem === null || isOver || heard !== before) return;
      set({ link: "refused", problem, data: null });
    };
    const lose = (): void => {
      missing ??= setTimeout(() => {
        isLost = true;
        set({ link: "lost" });
        void ask();
      }, patienceMs);
      const isClosed = source?.readyState === EventSource.CLOSED;
      if (isLost || isClosed) void ask();
      if (!isClosed) return;
      clearTimeout(again);
      again = setTimeout(start, againMs);
    };
    const start = (): void => {
      stop();
      if (document.hidden) {
        found();
        return;
      }
      source = new EventSource(address);
      source.onmessage = ({ data }: MessageEvent<string>) => {
        heard++;
        found();
        set({ data: JSON.parse(data) as T, link: "live", problem: null });
      };
      source.onerror = lose;
    };
    // Browsers open only a few connections to a server: hidden pages close theirs.
    document.addEventListener("visibilitychange", start);
    start();
    return () => {
      isOver = true;
      asking.abort();
      document.removeEventListener("visibilitychange", start);
      stop();
      found();
    };
  }, [address, subject]);
  return told.of === subject ? told : withoutData(told);
}

/** The state of the connection, for another subject. */
function withoutData<T>({ link }: LiveData<T>): LiveData<T> {
  return { data: null, link: link === "refused" ? "connecting" : link, problem: null };
}

const titles: Readonly<Record<number, string>> = {
  400: "This inbox does not support this filter",
  403: "You may not view this page",
};

async function whyRefused(address: string, signal: AbortSignal): Promise<Problem | null> {
  try {
    const response = await fetch(address, { signal });
    const title = titles[response.status];
    if (title === undefined) return null;
    const { detail } = (await response.json()) as { readonly detail: string };
    return { title, detail };
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
  const { done, detail } = (await response.json().catch(() => ({}))) as Partial<WireDone & Problem>;
  if (done === undefined) throw new Error(detail ?? `The server answered ${response.status}.`);
  return done;
}
