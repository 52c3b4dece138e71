import type { RequestListener } from "node:http";
import { gate, setUp, turns } from "@reporthook/test-support/receiver-setup";
import { serve } from "@reporthook/test-support/service-calls";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import { nodeHandler } from "../http/node-handler.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { messages } from "../log-messages.ts";
import { type Instrumentation, instrumentation } from "../observe/instrumentation.ts";
import type { ReceiverOptions } from "../options/receiver-options.ts";

const full = { add: () => Promise.reject(new Error("disk full")) };
const test = { event_type: "test_webhook_endpoint", payload: "hello" };
const json = { "content-type": "application/json" };
const unsigned = { headers: json, body: JSON.stringify(test) };
const signed = { ...unsigned, headers: { ...json, "X-svc-authorization": "s" } };
const blank = { ...unsigned, headers: { ...json, "X-svc-authorization": " " } };
const fail = (): never => {
  throw new TypeError("no such property");
};
const failing = (parts: Instrumentation): Partial<ReceiverOptions> => ({
  [instrumentation]: () => parts,
});

describe("what is lost", () => {
  it.each([
    ["a signed one", {}, signed, [{ code: "lost", count: 1, severity: "critical" }]],
    ["none for an unsigned one", {}, unsigned, []],
    ["none for one whose signature is blank", {}, blank, []],
    [
      "one whose signature a function has to find in a body",
      { signature: () => null },
      unsigned,
      [{ code: "lost", count: 1, severity: "critical" }],
    ],
  ])("a receiver that can't store counts as lost %s", async (_, options, sent, lost) => {
    const { receiver, post } = setUp({ inbox: Object.assign(memoryInbox(), full), ...options });
    expect((await post(sent)).status).toBe(503);
    const { problems } = await receiver.health();
    expect(problems.filter(({ code }) => code === "lost")).toMatchObject(lost);
  });

  it("a receiver is not sure that it has lost a request on which the app's signature function failed", async () => {
    const { receiver, post, lines } = setUp({ signature: fail });
    const { status, body } = await post(signed);
    expect([status, body.code]).toEqual([503, "inbox_unavailable"]);
    const { problems } = await receiver.health();
    expect(problems).toMatchObject([{ code: "lost", count: 1, severity: "warning" }]);
    const error = "Error: The function of the option signature failed: TypeError: no such property";
    const fields = { error, err: expect.any(Error), count: 1 };
    const line = { level: "error", message: messages.requestFailed, fields };
    expect(lines.at(-1)).toMatchObject(line);
  });

  it("a receiver is sure that it has lost a signed request that failed for another reason", async () => {
    const receive = async () => fail();
    const { receiver, post } = setUp(failing({ receive }));
    expect((await post(signed)).status).toBe(503);
    const { problems } = await receiver.health();
    expect(problems).toMatchObject([{ code: "lost", count: 1, severity: "critical" }]);
  });
});

describe("an answer in any case", () => {
  it("a receiver answers 503 and logs it once a minute when telemetry throws at once", async () => {
    const clock = manualClock();
    const { post, lines, receiver } = setUp({ ...failing({ receive: fail }), clock });
    for (let count = 0; count < 3; count++) {
      const { status, headers } = await post(signed);
      expect([status, headers.get("connection")]).toEqual([503, null]);
    }
    clock.advance(60_000);
    await receiver.close();
    const { status, headers } = await post(signed);
    expect([status, headers.get("connection")]).toEqual([503, "close"]);
    const failed = lines.filter(({ message }) => message === messages.requestFailed);
    expect(failed.map(({ fields }) => fields["count"])).toEqual([1, 3]);
  });

  it("a receiver tells its instruments the id and the time of an answer", async () => {
    const clock = manualClock();
    const verdict = gate();
    const told: unknown[] = [];
    const { post } = setUp({
      ...failing({ answered: (result, _, ms, id) => void told.push(result, ms, id) }),
      client: { authorize: () => verdict.opened.then(() => "valid" as const) },
      clock,
      verify: "before-ack",
    });
    const answer = post(signed);
    await turns();
    clock.advance(250);
    verdict.open();
    const { id } = (await answer).body;
    expect(told).toEqual([{ status: "accepted", id }, 250, id]);
  });

  it("a receiver warns of a refusal with the names of the headers that came, and of no other answer", async () => {
    const { post, send, lines } = setUp({ autostart: false });
    expect((await post({ headers: json, body: "no JSON" })).status).toBe(400);
    await send("report");
    const fields = { code: "invalid_json", headers: ["content-type"], count: 1 };
    const warned = lines.filter(({ fields }) => "code" in fields);
    expect(warned).toMatchObject([{ level: "warn", message: messages.invalidJson, fields }]);
  });

  it("a receiver warns that its answer did not reach the sender only when something else had answered", async () => {
    const { receiver, lines } = setUp({ autostart: false });
    const handler = nodeHandler(receiver);
    const ask = async (listener: RequestListener) => {
      return (await fetch(await serve(listener), { method: "POST", ...signed })).status;
    };
    expect(await ask(handler)).toBe(200);
    expect(lines.filter(({ message }) => message === messages.answerLost)).toEqual([]);
    const handled = gate();
    const status = await ask((req, res) => {
      res.writeHead(404).end();
      void Promise.resolve(handler(req, res)).then(handled.open);
    });
    expect(status).toBe(404);
    await handled.opened;
    const [line] = lines.filter(({ message }) => message === messages.answerLost);
    expect(line?.fields).toMatchObject({ code: "answered" });
  });
});
