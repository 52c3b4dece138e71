import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

/** An answer with its whole text. */
export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Asks with headers that `fetch` does not send, such as a Host that somebody points at this machine. */
export async function ask(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
  body?: string,
): Promise<Answered> {
  const asking = request(url, { method, headers: { ...headers } }).end(body);
  const [answer] = (await once(asking, "response")) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: await text(answer) };
}
