import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer } from "@reporthook/core";
import { incomingFromNode, send } from "@reporthook/core/node";
import { type MountHost, mountContract } from "@reporthook/testing";
import { expect, test, vi } from "vitest";
import { listen, socketHost } from "./hosts/mount.ts";

type Sender = (req: IncomingMessage, res: ServerResponse, answer: Answer) => void;

function careless(urlOf: (req: IncomingMessage) => string, sender: Sender): MountHost {
  return socketHost("all", (receiver) => {
    const answer = receiver.mount();
    const handle: (req: IncomingMessage, res: ServerResponse) => Promise<void> = async (req, res) =>
      sender(req, res, await answer(incomingFromNode(req, { url: urlOf(req) })));
    return listen((req, res) => void handle(req, res), "/webhooks/reports");
  });
}

const whole = (req: IncomingMessage): string => req.url ?? "/";
const mistakes: Record<string, readonly [MountHost, string]> = {
  "forgets the prefix": [
    careless((req) => whole(req).replace("/webhooks", ""), send),
    "200 accepted once a notification is stored",
  ],
  "counts characters": [
    careless(whole, (_req, res, { status, headers, body }) => {
      res.writeHead(status, { ...headers, "Content-Length": body.length }).end(body);
    }),
    "content-length counts bytes when the answer is not ASCII",
  ],
  "drops headers": [
    careless(whole, (_req, res, { status, body }) => {
      res.writeHead(status, { "Content-Type": "application/problem+json" }).end(body);
    }),
    "405 method_not_allowed for PUT",
  ],
  "words a document otherwise": [
    careless(whole, (req, res, answer) =>
      send(req, res, { ...answer, body: answer.body.replace("missing", "no") }),
    ),
    "401 missing_signature when the options refuse unsigned notifications",
  ],
};

test.each(Object.entries(mistakes))(
  "mountContract() fails a host that %s",
  async (_mistake, [host, name]) => {
    const one = mountContract(host).find((candidate) => candidate.name === name);
    await expect(one?.run()).rejects.toThrow();
  },
);

test("mountContract() names the reason of a skipped case and tells the runner", async () => {
  const reason = "this host is slow";
  const name = "200 accepted before authorize answers";
  const host = socketHost("all", () => Promise.reject(new Error("served")), { [name]: reason });
  const [one, ...others] = mountContract(host).filter(({ skip }) => skip !== undefined);
  expect(others).toEqual([]);
  expect(one).toMatchObject({ name: `${name} (skipped: ${reason})`, skip: reason });
  const skip = vi.fn();
  await one?.run({ skip });
  await one?.run();
  expect(skip.mock.calls).toEqual([[reason]]);
});

test.each([null, 7])(
  "mountContract() throws a TypeError that names the host when it is %j",
  (host) => {
    const make = () => mountContract(host as unknown as MountHost);
    expect(make).toThrow(/^mountContract: host must be an object/);
  },
);

test("mountContract() throws when skip names no case", () => {
  const host = socketHost("all", () => Promise.reject(new Error("served")), {
    "no such case": "?",
  });
  expect(() => mountContract(host)).toThrow('"no such case"');
});
