import { useEffect, useState } from "preact/hooks";

/** The state of the connection to the server. */
export type Link = "connecting" | "live" | "lost" | "refused";

/** The last data of the server, and the state of the connection. */
export interface LiveData<T> {
  /** The subject. */
  readonly of: string;
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
// Of a connection that is alive something is heard every 15 s.
const silentMs = 40_000;
const againMs = 1_000;
const maxMs = 30_000;

/**
 * Follows an address of the API: gets its data at once, and at each change. The known data stay while another address of the same
 * subject is loading.
 */
export function useLive<T>(address: string, subject: string): LiveData<T> {
  const nothing = { of: subject, data: null, link: "connecting", problem: null } as const;
  const [told, setTold] = useState<LiveData<T>>(nothing);
  useEffect(() => {
    const set = (part: Partial<LiveData<T>>): void =>
      setTold((before) => ({ ...about(subject, before), ...part }));
    let connection = new AbortController();
    // Browsers open only a few connections to a server: hidden pages close theirs.
    const connect = (): void => {
      connection.abort();
      connection = new AbortController();
      if (!document.hidden) void follow(address, connection.signal, set);
    };
    const turn = (): void => {
      set({ link: "connecting" });
      connect();
    };
    connect();
    document.addEventListener("visibilitychange", turn);
    return () => {
      document.removeEventListener("visibilitychange", turn);
      connection.abort();
    };
  }, [address, subject]);
  return about(subject, told);
}

/** The data of a subject; if those of another one were told, only the state of the connection. */
function about<T>(subject: string, told: LiveData<T>): LiveData<T> {
  if (told.of === subject) return told;
  const link = told.link === "refused" ? "connecting" : told.link;
  return { of: subject, data: null, link, problem: null };
}

/** Follows an address until `signal` aborts, and connects again when the connection is lost. */
async function follow<T>(
  address: string,
  signal: AbortSignal,
  set: (part: Partial<LiveData<T>>) => void,
): Promise<void> {
  let losing: ReturnType<typeof setTimeout> | undefined;
  const tell = (part: Partial<LiveData<T>>): void => {
    clearTimeout(losing);
    losing = undefined;
    // Meanwhile something else may be shown.
    if (!signal.aborted) set(part);
  };
  const hear = (text: string): void =>
    tell({ data: JSON.parse(text) as T, link: "live", problem: null });
  while (!signal.aborted) {
    const refusal = await listen(address, signal, hear).catch(() => null);
    if (refusal !== null) tell(refusal);
    else losing ??= setTimeout(() => tell({ link: "lost" }), patienceMs);
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}

/** Connects, and tells each event until the connection ends. Resolves to a refusal, or to null without one that has a reason. */
async function listen(
  address: string,
  leaving: AbortSignal,
  hear: (text: string) => void,
): Promise<Partial<LiveData<never>> | null> {
  const dead = new AbortController();
  // A connection may die without an error.
  const wait = () => setTimeout(() => dead.abort(), silentMs);
  let silent = wait();
  try {
    const signal = AbortSignal.any([leaving, dead.signal]);
    const headers = { Accept: "text/event-stream" };
    const response = await fetch(address, { cache: "no-store", headers, signal });
    if (!response.ok) return await refusalOf(response);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value } = (await reader?.read()) ?? {};
      if (value === undefined) return null;
      clearTimeout(silent);
      silent = wait();
      const events = (text + value).split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) if (event.startsWith("data: ")) hear(event.slice(6));
    }
  } finally {
    clearTimeout(silent);
    dead.abort();
  }
}

const titles: Readonly<Record<number, string>> = {
  400: "This inbox does not support this filter",
  401: "You are not signed in",
  403: "You may not view this page",
};

async function refusalOf(response: Response): Promise<Partial<LiveData<never>> | null> {
  const { status } = response;
  // A login in front answers with its own page.
  const signIn = { detail: "Sign in, then reload this page." };
  const { detail } = status === 401 ? signIn : ((await response.json()) as Partial<Denial>);
  if (detail === undefined) return null;
  const problem = { title: titles[status] ?? "This page can’t be shown now", detail };
  // Of a server that can't answer now the last data stay.
  return { link: "refused", problem, ...(status < 500 && { data: null }) };
}

/** Has something done; resolves to how often it was, and rejects with what the server says when it was not. */
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
  const answer: Partial<Denial & { readonly done: number }> = await response
    .json()
    .catch(() => ({}));
  const { done, detail } = answer;
  if (done === undefined) throw new Error(detail ?? `The server answered ${response.status}.`);
  return done;
}
