import { AppServer, type AppUnderTest } from "../http/app-server.ts";
import type { FaultOptions } from "../lib/faults.ts";
import { readUpTo } from "../lib/read-up-to.ts";
import { untraced } from "../lib/untraced.ts";
import type { Deliver, Delivery, OutgoingNotification } from "./delivery.ts";

/** The result of sending a notification once. */
export type SendResult = Pick<Delivery, "status" | "body" | "error">;

const ANSWER_BYTES = 65_536;

/** Codes of errors that only a connection can have. */
const BROKEN_CONNECTION = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|HPE_.*)$/;

/** The way of notifications to their receiver: into an app, else through `deliver`, else over the network. */
export class Transport {
  readonly #deliver: Deliver | undefined;
  /** Unexpected failures that nobody was told of. */
  readonly #mishaps = new Set<string>();
  #app: AppServer | undefined;

  /** The default of `deliver` is the global `fetch`, looked up for each delivery. */
  constructor(deliver: Deliver | undefined) {
    this.#deliver = deliver;
  }

  /** Leads into this app from now on. */
  deliverTo(app: AppUnderTest): void {
    if (this.#app === undefined) this.#app = new AppServer(app);
    else this.#app.replace(app);
  }

  /** Sends once; never rejects. */
  async send(
    { drop, status }: FaultOptions,
    parcel: OutgoingNotification,
    signal: AbortSignal,
  ): Promise<SendResult> {
    if (drop) return { status: null, error: "A fault dropped the delivery." };
    if (status !== undefined) return resultOf(status, "");
    const app = this.#app;
    try {
      const answer = await this.#carry(parcel, signal);
      const { bytes } = await readUpTo(answer.body, ANSWER_BYTES, signal);
      const text = new TextDecoder().decode(bytes);
      // Frameworks answer so when the app throws, and tell nobody else.
      const hasThrown = app !== undefined && answer.status === 500;
      if (hasThrown) this.#note(parcel, `the app answered 500: ${summary(text)}`);
      return resultOf(answer.status, text);
    } catch (error) {
      const { reason, code } = causeOf(error);
      if (!signal.aborted && !BROKEN_CONNECTION.test(code)) this.#note(parcel, reason);
      return { status: null, error: `The receiver could not be reached: ${reason}` };
    }
  }

  /** Throws if a notification reached nobody or the app has thrown, and no fault asked for that; tells each once. */
  assertArrived(): void {
    if (this.#mishaps.size === 0) return;
    const list = [...this.#mishaps].join("; ").replace(/(callback_token=)[\w.-]+/g, "$1[removed]");
    this.forget();
    const isLost = this.#app === undefined;
    const hint = isLost ? ". Bring them to your app with emulator.deliverTo(app)" : "";
    throw new Error(`settled: a notification failed, ${list}${hint}`);
  }

  forget(): void {
    this.#mishaps.clear();
  }

  /** Ends the connections to the app. */
  end(): void {
    this.#app?.end();
  }

  async #carry(
    { url, notification }: OutgoingNotification,
    signal: AbortSignal,
  ): Promise<Pick<Response, "status" | "body">> {
    if (this.#app !== undefined) return this.#app.post({ url, ...notification, signal });
    // Redirects are not followed: a 3xx is not 2xx.
    const request = new Request(url, { ...notification, redirect: "manual", signal });
    if (this.#deliver === undefined) return untraced(() => globalThis.fetch(request));
    const answer = await this.#deliver(request);
    if (typeof answer?.status === "number") return answer;
    throw new TypeError("deliver must resolve to a Response");
  }

  #note({ name, url }: OutgoingNotification, what: string): void {
    this.#mishaps.add(`${name} to ${url}: ${what}`);
  }
}

function resultOf(status: number, body: string): SendResult {
  if (status >= 200 && status <= 299) return { status, body };
  return { status, body, error: `The receiver answered ${status}, not 2xx.` };
}

/** The beginning of an answer, without the tags of a page. */
function summary(text: string): string {
  const page = text.replace(/<head>.*<\/head>|<[^>]*>|&nbsp;/gs, " ");
  return page.replace(/\s+/g, " ").trim().slice(0, 200);
}

/** The innermost cause: fetch itself only says that it failed. */
function causeOf(error: unknown): { readonly reason: string; readonly code: string } {
  // Not instanceof: under Jest the errors of fetch come from another realm.
  if (typeof error !== "object" || error === null) return { reason: String(error), code: "" };
  const { cause, message, code, name }: Partial<NodeJS.ErrnoException> = error;
  if (cause !== undefined) return causeOf(cause);
  return { reason: message || String(code ?? name), code: String(code) };
}
