import { createServer } from "node:http";
import { createReceiver, type Inbox, type Receiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { loadDriver } from "@reporthook/sqlite/internals";
import { listenLocally } from "@reporthook/test-support/listening";

/** A log line as it was written. */
export interface Line {
  readonly level: "warn" | "error";
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** The content of an answer. */
export interface Answered {
  readonly status: number;
  /** `accepted`, `duplicate`, or the problem's code. */
  readonly said: string;
  readonly id: string;
  readonly retryAfter: string | null;
}

/** A receiver that listens on its own port. */
export interface Served {
  readonly url: string;
  readonly receiver: Receiver;
  readonly lines: Line[];
  /** The ids that the handler was given. */
  readonly handled: string[];
  close(): Promise<void>;
}

/** How an inbox is served. */
export interface ServeOptions {
  /** The limit for an answer, in milliseconds. */
  readonly ackMs?: number;
  /** Whether what is stored is also worked on. */
  readonly works?: boolean;
  readonly handle?: (id: string) => Promise<void>;
}

/** Serves an inbox over HTTP. */
export async function serve(inbox: Inbox, options: ServeOptions = {}): Promise<Served> {
  const lines: Line[] = [];
  const handled: string[] = [];
  const write = (level: Line["level"]) => (fields: Line["fields"], message: string) => {
    lines.push({ level, fields, message });
  };
  const { ackMs = 60_000, works = true, handle } = options;
  const receiver = createReceiver({
    client: { authorize: async () => "valid" },
    inbox,
    limits: { ackMs, bodyMs: ackMs },
    autostart: works,
    logger: { warn: write("warn"), error: write("error") },
  });
  receiver.on("*", async ({ id }) => {
    await handle?.(id);
    handled.push(id);
  });
  // A slow machine must not have a connection end while it is chosen for the next request.
  const server = createServer({ keepAliveTimeout: 60_000 }, nodeHandler(receiver));
  const url = `${await listenLocally(server)}/`;
  return {
    url,
    receiver,
    lines,
    handled,
    async close() {
      server.closeAllConnections();
      server.close();
      await receiver.close({ timeoutMs: 200 });
    },
  };
}

let made = 0;

/** A notification of the service. */
export interface Sent {
  readonly signature: string;
  readonly body: string;
}

/** A body and a signature unlike all others. */
export function notification(bytes = 0): Sent {
  const number = ++made;
  const padding = "x".repeat(bytes);
  const body = JSON.stringify({ status: "complete", report_id: `r-${number}`, padding });
  return { signature: `signature-${number}`, body };
}

/** Sends a notification over HTTP. */
export async function post(url: string, sent: Sent = notification()): Promise<Answered> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "x-svc-authorization": sent.signature },
    body: sent.body,
  });
  const said = (await answer.json()) as { status: unknown; code?: string; id?: string };
  return {
    status: answer.status,
    said: said.code ?? String(said.status),
    id: said.id ?? "",
    retryAfter: answer.headers.get("retry-after"),
  };
}

/** Sends until it is answered so. */
export async function postUntil(url: string, status: number, one?: Sent): Promise<Answered> {
  let last: Answered | undefined;
  await until(async () => {
    last = await post(url, one);
    return last.status === status;
  }, `an answer ${status}`);
  return last as Answered;
}

/** Waits, with much patience, until it holds. */
export async function until(check: () => unknown, what: string): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`Waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The ids in a file and how often each is there, read by another connection. */
export function stored(path: string): Map<string, number> {
  return query(path, (all) => {
    const rows = all("SELECT id, count(*) AS number FROM delivery GROUP BY id");
    return new Map(rows.map(({ id, number }) => [String(id), Number(number)]));
  });
}

/** Runs SQL on a file through another connection. */
export function query<T>(path: string, run: (all: All, exec: Exec) => T): T {
  const database = loadDriver().open(path);
  try {
    database.exec("PRAGMA busy_timeout = 10000");
    return run(
      (sql) => database.prepare(sql).all(),
      (sql) => void database.exec(sql),
    );
  } finally {
    database.close();
  }
}

export type All = (sql: string) => Record<string, unknown>[];
type Exec = (sql: string) => void;
