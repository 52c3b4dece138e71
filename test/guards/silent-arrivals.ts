import { incomingFromRequest, memoryInbox } from "@reporthook/core";
import { fail, inboxWith, type SilentCase } from "./silent-case.ts";

const url = "https://app.example/hook";
const secret = "0123456789abcdef0123456789abcdef";

const elsewhere = { "x-other": "a signature" };
const large = JSON.stringify({ padding: "x".repeat(5_000) });

/** The notifications that are not stored, or only to wait for a person. */
export const silentArrivals: readonly SilentCase[] = [
  {
    when: "the signature comes in another header",
    sent: { unsigned: true, headers: elsewhere },
    says: "name it in the option signature",
    shows: "x-other",
  },
  {
    when: "the same with unsigned: refuse",
    options: () => ({ unsigned: "refuse" }),
    sent: { unsigned: true, headers: elsewhere },
    says: "Notification refused by the options",
    shows: "x-other",
  },
  {
    when: 'the same with ack: "handled", which holds nothing',
    options: () => ({ ack: "handled" }),
    sent: { unsigned: true, headers: elsewhere },
    says: "Notification refused by the options",
    shows: "x-other",
  },
  {
    when: "the same, and the body is over 4 KiB",
    sent: { unsigned: true, headers: elsewhere, body: large },
    says: "its body is over the limit, answered 413",
    shows: "x-other",
  },
  {
    when: "the same, and the content type is another",
    sent: { unsigned: true, headers: { ...elsewhere, "content-type": "text/plain" } },
    says: "is not sent as JSON, answered 415",
    shows: "x-other",
  },
  {
    when: "the same, and the body is no JSON object",
    sent: { unsigned: true, headers: elsewhere, body: "[]" },
    says: "is no JSON object, answered 400",
    shows: "x-other",
  },
  {
    when: "a signed body is over limits.bodyBytes",
    options: () => ({ limits: { bodyBytes: 10 } }),
    says: "Raise limits.bodyBytes",
    shows: "x-svc-authorization",
  },
  {
    when: "a signed body of no known length is over limits.bodyBytes",
    options: () => ({ limits: { bodyBytes: 10 } }),
    sent: { streamed: true },
    says: "Raise limits.bodyBytes",
    shows: "x-svc-authorization",
  },
  {
    when: "the body does not arrive whole",
    sent: { cutOff: true },
    says: "did not arrive in time, answered 408",
    shows: "x-svc-authorization",
  },
  {
    when: "the receiver closes",
    before: (_, receiver) => receiver.close(),
    says: "refused while closing: answered 503",
  },
  {
    when: "too many wait",
    options: () => ({ autostart: false, limits: { waiting: 1 } }),
    before: (emulator, receiver) =>
      receiver.fetch(
        new Request("https://app.example/first", emulator.notification("report.complete")),
      ),
    says: "Notification refused: too many are waiting, answered 503",
  },
  {
    when: "something else had answered",
    deliver: (receiver, request) =>
      receiver.mount()({ ...incomingFromRequest(request), answered: () => true }),
    says: "something else had answered the request",
    shows: "x-svc-authorization",
  },
  {
    when: "something ahead consumed the body",
    deliver: async (receiver, request) => {
      await request.text();
      return await receiver.fetch(request);
    },
    says: "Something ahead of the receiver consumed the body",
  },
  {
    when: "waitUntil throws",
    deliver: (receiver, request) => receiver.fetch(request, { waitUntil: fail }),
    says: "waitUntil failed",
  },
  {
    when: "the function of the option signature throws",
    options: () => ({ signature: fail }),
    says: "Request failed unexpectedly: answered 503",
    shows: "not today",
  },
  {
    when: "it comes unsigned and without the callback token that is required",
    options: () => ({ callback: { secrets: [secret], require: true } }),
    sent: { unsigned: true },
    says: "Request refused: it has no valid callback token, answered 404",
    shows: "token: 'missing'",
  },
  {
    when: "it comes without the callback token that is required",
    options: () => ({ callback: { secrets: [secret], require: true } }),
    says: "if the service vouches for it, it will be held",
    shows: "token: 'missing'",
  },
  {
    when: "its callback token is made with another secret",
    options: () => ({ callback: { secrets: [secret] } }),
    sent: { query: "?callback_token=another" },
    says: "its event has no context",
    shows: "token: 'invalid'",
  },
  {
    when: "too many come without a signature",
    sent: { unsigned: true },
    deliver: async (receiver, request) => {
      for (let sent = 0; sent < 20; sent++) await receiver.fetch(request.clone());
    },
    says: "Notification refused: too many have no signature",
  },
  {
    when: "its signature came with other bytes before",
    sent: { headers: { "X-svc-authorization": "used twice" } },
    before: (_, receiver) => {
      const headers = { "X-svc-authorization": "used twice" };
      return receiver.fetch(new Request(url, { method: "POST", headers, body: "{}" }));
    },
    says: "Signature reused with other bytes",
    shows: "sameSignatureAs",
  },
  {
    when: "the inbox is full",
    options: () => ({ inbox: memoryInbox({ maxBytes: 1 }) }),
    says: "Notification refused: the inbox is full, answered 503",
  },
  {
    when: "the inbox can't store",
    options: () => ({ inbox: inboxWith({ add: fail }) }),
    says: "Notification not stored: answered 503",
    shows: "not today",
  },
  {
    when: "the inbox can't be opened",
    options: () => ({ inbox: inboxWith({ open: fail }) }),
    says: "Inbox not opened",
    shows: "not today",
  },
];
