import { fork } from "node:child_process";
import { once } from "node:events";
import { programOf } from "@reporthook/test-support/program";
import { expect, test } from "vitest";

const server = await programOf(new URL("hosts/large-bodies.ts", import.meta.url));
const chunk = new Uint8Array(1_000_000).fill(120);
const senders = 40;
const chunks = 10;

function tenMegabytes(): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent++ < chunks) controller.enqueue(chunk);
      else controller.close();
    },
  });
}

// Kept whole, these bodies would take 400 MB.
test.each(["node", "hono"])(
  "a receiver on %s refuses forty bodies of 10 MB at once without keeping them",
  async (host) => {
    const child = fork(server, [host]);
    const ask = async (): Promise<number> => {
      child.send("");
      return Number((await once(child, "message"))[0]);
    };
    try {
      const [port] = await once(child, "message");
      const before = await ask();
      const answers = await Promise.allSettled(
        Array.from({ length: senders }, () =>
          fetch(`http://127.0.0.1:${port}/`, {
            method: "POST",
            headers: { "x-svc-authorization": "s", "content-type": "application/json" },
            body: tenMegabytes(),
            duplex: "half",
          }),
        ),
      );
      const after = await ask();
      // A sender that is cut off while it writes may miss the answer; none is taken in.
      const statuses = answers.map((one) => (one.status === "fulfilled" ? one.value.status : 413));
      expect(answers.map(({ status }) => status)).toContain("fulfilled");
      expect(statuses).toEqual(Array(senders).fill(413));
      expect(after - before).toBeLessThan(200);
    } finally {
      child.kill();
    }
  },
);
