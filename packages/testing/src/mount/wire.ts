import type { ProblemCode } from "@reporthook/core/telemetry";
import { patiently, same, sameEach } from "../assert.ts";
import { deferred } from "../deferred.ts";
import {
  completeReport,
  type Definition,
  expectLength,
  expectProblem,
  type Got,
  type MountFixture,
  type TestRequest,
  withMountFixture,
} from "./fixture.ts";
import type { MountHost, Served } from "./host.ts";

/** The promises that show only byte by byte: how a body arrives, and whether the connection closes. */
export const wireCases: readonly Definition[] = [
  {
    name: "413 body_too_large while a body of unknown length is read",
    receiver: { limits: { bodyBytes: 100 } },
    async run(fixture) {
      const chunk = "x".repeat(80);
      const chunked = `50\r\n${chunk}\r\n50\r\n${chunk}\r\n`;
      await refusesPart(fixture, "body_too_large", "Transfer-Encoding: chunked", chunked, {
        body: streamOf(chunk, chunk),
      });
    },
  },
  {
    name: "413 body_too_large by content-length reaches a sender that goes on sending",
    receiver: { limits: { bodyBytes: 100 } },
    async run(fixture) {
      const body = "x".repeat(1_000_000);
      await refusesPart(fixture, "body_too_large", `Content-Length: ${body.length}`, body, {
        body,
      });
    },
  },
  {
    name: "408 body_timeout for a body that stops half-way",
    receiver: { limits: { bodyMs: 50 } },
    async run(fixture) {
      await refusesPart(fixture, "body_timeout", "Content-Length: 100", '{"status":', {
        body: streamOf('{"status":'),
      });
    },
  },
  {
    name: "413 body_too_large reaches the sender of an unsigned chunked body, and the next request is answered",
    async run(fixture) {
      const body = "x".repeat(20_000);
      const chunked = `4e20\r\n${body}\r\n0\r\n\r\n`;
      const inProcess = { signature: null, body: streamOf(body) };
      await refusesPart(
        fixture,
        "body_too_large",
        "Transfer-Encoding: chunked",
        chunked,
        inProcess,
      );
      await fixture.takes("accepted");
    },
  },
  {
    name: "a body that is cut off is not stored, and the next one is",
    async runOn(host) {
      const arrived = deferred();
      await withMountFixture(host, { onRequest: () => arrived.resolve() }, async (fixture) => {
        const { send, takes, stored, receiver } = fixture;
        const body = cutOff(
          completeReport.slice(0, 20),
          patiently(arrived.promise, "the receiver is called before the body has come", 60_000),
        );
        // A sender that breaks off may see an answer or none.
        const got = await send({ body }).catch(() => null);
        if (got !== null) same(got.status, 408, "the status");
        const id = await takes("accepted");
        await receiver.idle({ timeoutMs: 60_000 });
        same(
          [stored.map((one) => one.id), (await receiver.inbox.get(id))?.state],
          [[id], "handled"],
          "what is stored",
        );
      });
    },
  },
  {
    name: "a signature header that comes twice with one value counts once",
    async run({ host, served, receiver, takes }) {
      if (host.raw === undefined) await takes("accepted", { signature: "valid-1, valid-1" });
      else {
        const two = "X-svc-authorization: valid-1\r\nX-Svc-Authorization: valid-1";
        const [got] = await exchange(host, served, [
          postText(served, two, completeReport, "close"),
        ]);
        same(got?.status, 200, "the status");
      }
      await receiver.idle({ timeoutMs: 60_000 });
      same((await receiver.inbox.counts()).handled, 1, "handled");
    },
  },
  {
    name: "two signature headers count as one that is not genuine",
    needs: "sockets",
    async run({ host, served, receiver }) {
      const two = "X-svc-authorization: valid-1\r\nX-Svc-Authorization: valid-2";
      const [got] = await exchange(host, served, [postText(served, two, completeReport, "close")]);
      same(got?.status, 200, "the status");
      await receiver.idle({ timeoutMs: 60_000 });
      same((await receiver.inbox.counts()).rejected, 1, "rejected");
    },
  },
  {
    name: "431 from Node for a header of 20 KB",
    needs: "sockets",
    async run({ host, served, stored }) {
      // As much as is read at once: with unread bytes the system resets the connection, and the answer may be lost.
      const long = `X-svc-authorization: ${"a".repeat(20_000)}`;
      const [got] = await exchange(host, served, [postText(served, long, completeReport, "close")]);
      same([got?.status, stored.length], [431, 0], "the status, and how many are stored");
    },
  },
  {
    name: "a refusal leaves the connection to the next request",
    needs: "sockets",
    async run({ host, served }) {
      const answers = await exchange(host, served, [
        postText(served, "X-nothing: 1", "[1]", "keep-alive"),
        postText(served, "X-svc-authorization: valid-1", completeReport, "close"),
      ]);
      sameEach(answers, "status", [400, 200], "the statuses");
      for (const got of answers) expectLength(served, got);
    },
  },
];

/** Over a socket: the head and a part of the body, then the whole answer and the end of the connection. */
async function refusesPart(
  { host, served, refuses }: MountFixture,
  code: ProblemCode,
  length: string,
  part: string,
  inProcess: TestRequest,
): Promise<void> {
  if (host.raw === undefined) return refuses(code, inProcess);
  const signed = inProcess.signature === null ? "" : "X-svc-authorization: valid-1\r\n";
  const [got] = await exchange(host, served, [`${head(served)}${signed}${length}\r\n\r\n${part}`]);
  if (got === undefined) throw new Error("There is no answer");
  expectProblem(got, code);
  expectLength(served, got);
}

function head({ url }: Served): string {
  const { host, pathname } = new URL(url);
  return `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n`;
}

/** The text of a POST request. */
export function postText(served: Served, header: string, body: string, connection: string): string {
  const length = new TextEncoder().encode(body).byteLength;
  return `${head(served)}${header}\r\nConnection: ${connection}\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

async function exchange(
  host: MountHost,
  { url }: Served,
  requests: readonly string[],
): Promise<Got[]> {
  return answersIn((await host.raw?.(url, requests.join(""))) ?? "");
}

/** The answers in what came over a connection. */
export function answersIn(text: string): Got[] {
  let rest = text;
  const answers: Got[] = [];
  while (rest !== "") {
    const end = rest.indexOf("\r\n\r\n");
    const [line = "", ...fields] = rest.slice(0, end).split("\r\n");
    const headers = new Headers(
      fields.map((field) => field.split(/: ?(.*)/, 2) as [string, string]),
    );
    const length = Number(headers.get("content-length") ?? 0);
    const bytes = new TextEncoder().encode(rest.slice(end + 4));
    const body = new TextDecoder().decode(bytes.subarray(0, length));
    answers.push({ status: Number(line.split(" ")[1]), headers, text: body });
    rest = new TextDecoder().decode(bytes.subarray(length));
  }
  return answers;
}

/** A body that sends these chunks and then neither goes on nor ends; that it is cancelled it takes ill, as some hosts do. */
function streamOf(...chunks: readonly string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
    },
    cancel() {
      throw new Error("This body can't be cancelled");
    },
  });
}

/** A body that breaks off after this text, once `arrived` resolves. */
function cutOff(text: string, arrived: Promise<void>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
    async pull(controller) {
      await arrived;
      controller.error(new Error("cut off"));
    },
  });
}
