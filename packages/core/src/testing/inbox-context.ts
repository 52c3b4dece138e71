import { DoNotRetry } from "../errors.ts";
import { createReceiver } from "../receiver.ts";
import { same } from "./assert.ts";
import { asyncStorage } from "./async-context.ts";
import type { Written } from "./inbox-bench.ts";

/** What a receiver promises of the functions that it is given, on every inbox. */
export const context: readonly Written[] = [
  {
    name: "a receiver on it calls what it was given in the async context in which it was made, whoever opened the inbox",
    async run({ inbox, clock, patiently }) {
      const storage = asyncStorage();
      if (storage === null) return;
      const seen: [what: string, store: string | undefined][] = [];
      const see = (what: string) => () => void seen.push([what, storage.getStore()]);
      const hooks = ["acknowledged", "verified", "failed", "parked"];
      const authorize = async (): Promise<"valid"> => {
        see("authorize")();
        return "valid";
      };
      const make = () =>
        createReceiver({
          ...{ inbox, clock, client: { authorize } },
          logger: { warn: see("warn"), error: see("error"), info: see("info") },
          observe: Object.fromEntries(hooks.map((hook) => [hook, see(hook)])),
          parse: () => {
            see("parse")();
            return null;
          },
        });
      const receiver = storage.run("made", make);
      receiver.on("report", () => {
        see("handler")();
        throw new DoNotRetry("seen");
      });
      const send = (signature: string): Promise<Response> => {
        const headers = { "x-svc-authorization": signature, "content-type": "application/json" };
        const body = '{"event_type":"report_status","status":"complete"}';
        const request = new Request("https://app.example/hook", { method: "POST", headers, body });
        return storage.run(`request ${signature}`, () => receiver.fetch(request));
      };
      for (const signature of ["one", "two"]) {
        same((await patiently(send(signature), "the answer")).status, 200, "the answer");
        await patiently(receiver.idle({ timeoutMs: 60_000 }), "idle()");
      }
      await patiently(receiver.close(), "close()");
      const whats = [...new Set(seen.map(([what]) => what))].sort();
      same(whats, ["authorize", "handler", "info", "parse", "warn", ...hooks].sort(), "what ran");
      const elsewhere = seen.filter(([, store]) => store !== "made");
      same(elsewhere, [], "What ran in another context");
    },
  },
];
