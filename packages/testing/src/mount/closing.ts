import { patiently, same } from "../assert.ts";
import { deferred } from "../deferred.ts";
import { completeReport, type Definition, type MountFixture, withMountFixture } from "./fixture.ts";
import type { RawConnection } from "./host.ts";
import { answersIn, postText } from "./wire.ts";

/** The promises about requests that are on their way when the process is told to end. */
export const closingCases: readonly Definition[] = [
  {
    name: "200 accepted for a request that is half sent when the server is shut down",
    async runOn(host) {
      const arrived = deferred();
      await withMountFixture(host, { onRequest: () => arrived.resolve() }, async (fixture) => {
        const { receiver, send, served } = fixture;
        const closing = deferred();
        const sending = send({ body: halves(completeReport, closing.promise) });
        await patiently(arrived.promise, "the receiver is called before the body has come", 60_000);
        const closed = served.shutdown?.(receiver) ?? receiver.close();
        closing.resolve();
        const got = await sending;
        same(got.status, 200, got.text);
        if (host.connect !== undefined) same(got.headers.get("connection"), "close", "connection");
        await closed;
        same(fixture.stored.length, 1, "stored");
      });
    },
  },
  {
    name: "a head that is half sent on a kept connection is answered while the server is shut down",
    needs: "shutdown",
    run: (fixture) =>
      whileShutDown(fixture, async (wire) => {
        const next = request(fixture, 2);
        await ask(wire, request(fixture, 1));
        wire.send(next.slice(0, 30));
        return next.slice(30);
      }),
  },
  {
    name: "a kept connection asks once more while the server is shut down",
    needs: "shutdown",
    run: (fixture) =>
      whileShutDown(fixture, async (wire) => {
        await ask(wire, request(fixture, 1));
        return request(fixture, 2);
      }),
  },
  {
    name: "all requests that are sent at once are answered while the server is shut down",
    needs: "shutdown",
    run: (fixture) =>
      whileShutDown(
        fixture,
        async (wire) => {
          await ask(wire, request(fixture, 1));
          return request(fixture, 2) + request(fixture, 3);
        },
        3,
      ),
  },
];

/** Shuts the server down, then sends the rest: each request is stored and answered, and the last answer ends the connection. */
async function whileShutDown(
  { host, receiver, served, stored }: MountFixture,
  begin: (wire: RawConnection) => Promise<string>,
  requests = 2,
): Promise<void> {
  const wire = await host.connect?.(served.url);
  if (wire === undefined) throw new Error("There is no connection");
  const rest = await begin(wire);
  const closed = served.shutdown?.(receiver);
  wire.send(rest);
  const answers = answersIn(await patiently(wire.ended, "the connection ends", 60_000));
  await closed;
  const statuses = answers.map(({ status }) => status);
  same([statuses, stored.length], [Array(requests).fill(200), requests], "answered, and stored");
  const last = answers.at(-1)?.headers.get("connection")?.toLowerCase();
  same(last, "close", "the last one's connection");
}

async function ask(wire: RawConnection, text: string): Promise<void> {
  wire.send(text);
  await patiently(wire.until("}"), "the first answer", 60_000);
}

function request({ served }: MountFixture, number: number): string {
  return postText(served, `X-svc-authorization: valid-${number}`, completeReport, "keep-alive");
}

/** A body whose second half comes once `goOn` resolves. */
function halves(text: string, goOn: Promise<void>): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start: (controller) => controller.enqueue(bytes.subarray(0, 10)),
    async pull(controller) {
      await goOn;
      controller.enqueue(bytes.subarray(10));
      controller.close();
    },
  });
}
