import { createClient, type Receiver, type ReceiverOptions } from "@reporthook/core";
import { deferred } from "@reporthook/testing/internals";
import { type Setup, setUp } from "./receiver-setup.ts";

/** A secret of callback URLs. */
export const callbackSecret = "0123456789abcdef0123456789abcdef";
/** The address of the receiver, to which the service is told to send. */
export const callbackBase = "https://app.example/webhooks/reports";

type Answering = () => Response | Promise<Response>;

/** A receiver that asks for reports, with the service it asks. */
export interface AskingSetup extends Setup {
  readonly reports: Receiver["reports"];
  /** The callback URLs of the requests that were sent. */
  readonly sent: string[];
  /** Has the receiver get a notification, to the first of them unless told; resolves to its id. */
  notify(
    status: string,
    how?: { readonly at?: string | undefined; readonly signature?: string },
  ): Promise<string>;
  /** Has the service answer requests like this, or as usual. */
  failWith(how: Answering | null): void;
  /** Has the next request wait for its answer, which it is given by the function that is returned. */
  hold(): (response: Response) => void;
}

/** A receiver whose service takes requests, or fails as told, and whose notifications are sent by hand. */
export function askingSetUp(options: Partial<ReceiverOptions> = {}): AskingSetup {
  const sent: string[] = [];
  let fail: (() => Response | Promise<Response>) | null = null;
  const client = createClient({
    baseUrl: "https://service.example",
    apiKey: "key-that-nobody-may-see",
    fetch: async (address, init) => {
      if (!address.includes("request-report")) {
        const isForged = init.headers["X-svc-authorization"]?.startsWith("forged");
        return new Response("", { status: isForged ? 406 : 200 });
      }
      sent.push((JSON.parse(init.body ?? "{}") as { webhook_url: string }).webhook_url);
      return fail?.() ?? Response.json({ echo: init.body }, { status: 201 });
    },
  });
  const setup = setUp({
    callback: { secrets: [callbackSecret], url: callbackBase },
    client,
    ...options,
  });
  setup.seeAll();
  let notified = 0;
  const notify = async (status: string, { at = sent[0] ?? "", signature = "s" } = {}) => {
    const body = JSON.stringify({ status, report_id: "r-1" });
    const signed = { "X-svc-authorization": `${signature} ${++notified}` };
    const headers = { "content-type": "application/json", ...(signature !== "" && signed) };
    return (await setup.post({ headers, body }, at)).body.id;
  };
  const failWith = (how: typeof fail) => {
    fail = how;
  };
  /** Has the next request wait for its answer, which it is given by the function that is returned. */
  const hold = (): ((response: Response) => void) => {
    const answer = deferred<Response>();
    fail = () => answer.promise;
    return answer.resolve;
  };
  return { ...setup, sent, notify, failWith, hold, reports: setup.receiver.reports };
}
