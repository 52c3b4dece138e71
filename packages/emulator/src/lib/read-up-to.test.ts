import { expect, test } from "vitest";
import { readUpTo } from "./read-up-to.ts";

function streamOf(chunks: string[]): {
  stream: ReadableStream<Uint8Array>;
  released: () => boolean;
} {
  let released = false;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks.shift();
      if (chunk !== undefined) controller.enqueue(new TextEncoder().encode(chunk));
    },
    cancel() {
      released = true;
    },
  });
  return { stream, released: () => released };
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test("readUpTo() reads nothing when there is no stream", async () => {
  expect(await readUpTo(null, 9)).toEqual({ bytes: new Uint8Array(), complete: true });
});

test("readUpTo() reads all when it is exactly the limit", async () => {
  const { bytes, complete } = await readUpTo(new Response("123456789").body, 9);
  expect([text(bytes), complete]).toEqual(["123456789", true]);
});

test("readUpTo() cuts and releases a longer stream, even one without end", async () => {
  const { stream, released } = streamOf(["12345", "67890"]);
  const { bytes, complete } = await readUpTo(stream, 9);
  expect([text(bytes), complete, released()]).toEqual(["123456789", false, true]);
});

test("readUpTo() releases the stream when aborted before and meanwhile", async () => {
  const before = streamOf([]);
  await readUpTo(before.stream, 9, AbortSignal.abort());
  expect(before.released()).toBe(true);

  const meanwhile = streamOf([]);
  const caller = new AbortController();
  const reading = readUpTo(meanwhile.stream, 9, caller.signal);
  caller.abort();
  await reading;
  expect(meanwhile.released()).toBe(true);
});

test("readUpTo() rejects when the stream breaks, also when aborted then", async () => {
  const broken = () =>
    new ReadableStream<Uint8Array>({
      start: (controller) => controller.error(new Error("broken")),
    });
  await expect(readUpTo(broken(), 9)).rejects.toThrow("broken");
  await expect(readUpTo(broken(), 9, AbortSignal.abort())).rejects.toThrow("broken");
});
