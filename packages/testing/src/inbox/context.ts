import {
  createReceiver,
  DoNotRetry,
  type EntryDetails,
  type Receiver,
  type ReceiverOptions,
} from "@reporthook/core";
import { isAttempt } from "@reporthook/core/store";
import { same, truly } from "../assert.ts";
import { asyncStorage } from "../runtime.ts";
import type { InboxCase, InboxFixture } from "./fixture.ts";

/** The promises of a receiver about the functions of its options, on every inbox. */
export const context: readonly InboxCase[] = [
  {
    name: "a receiver on it runs handlers, hooks, authorize, parse and logger in the async context in which it was made, even when a request opened the inbox",
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
          inbox,
          clock,
          client: { authorize },
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
      const send = (signature: string): Promise<Response> =>
        storage.run(`request ${signature}`, () => sendTo(receiver, signature));
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
  {
    name: "a handler's error reaches the logger with stack and causes, and is kept with the attempt",
    async run(fixture) {
      const told: unknown[] = [];
      const logger = { warn: ({ err }: { readonly err?: unknown }) => void told.push(err) };
      const entry = await workedOff(fixture, { logger }, function failing() {
        throw new DoNotRetry("seen", { cause: new RangeError("below") });
      });
      const [err] = told as (Error | undefined)[];
      truly(err?.stack?.includes("failing") === true, "the logger is given the stack");
      same((err?.cause as Error | undefined)?.message, "below", "the cause that it is given");
      same(entry?.lastError?.split("\n")[0], "DoNotRetry: seen", "the first line that is kept");
      for (const part of ["failing", "caused by RangeError: below"]) {
        truly(entry?.lastError?.includes(part) === true, `${part} is kept with the entry`);
        const attempt = entry?.history.filter(isAttempt).at(-1)?.error;
        truly(attempt?.includes(part) === true, `${part} is kept with the attempt`);
      }
    },
  },
  {
    name: "a handler that throws a revoked proxy is retried like any other, and the delivery is dead after the last attempt",
    async run(fixture) {
      const retry = { attempts: 2, minMs: 0, maxMs: 0 };
      const entry = await workedOff(fixture, { logger: false, retry }, () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        throw proxy;
      });
      same([entry?.state, entry?.attempts], ["dead", 2], "The entry");
      same(entry?.reason?.code, "attempts_used_up", "The reason");
    },
  },
];

/** The entry of a report that a receiver on the inbox has worked on until nothing is left to do. */
async function workedOff(
  { inbox, clock, patiently }: InboxFixture,
  options: Partial<ReceiverOptions>,
  handler: () => never,
): Promise<EntryDetails | null> {
  const client = { authorize: async () => "valid" as const };
  const receiver = createReceiver({ inbox, clock, client, ...options });
  receiver.on("report", handler);
  const answer = await patiently(sendTo(receiver, "one"), "the answer");
  const { id } = (await answer.json()) as { readonly id: string };
  await patiently(receiver.idle({ timeoutMs: 60_000 }), "idle()");
  const entry = await receiver.inbox.get(id);
  await patiently(receiver.close(), "close()");
  return entry;
}

function sendTo(receiver: Pick<Receiver, "fetch">, signature: string): Promise<Response> {
  const headers = { "x-svc-authorization": signature, "content-type": "application/json" };
  const body = '{"event_type":"report_status","status":"complete"}';
  return receiver.fetch(new Request("https://app.example/hook", { method: "POST", headers, body }));
}
