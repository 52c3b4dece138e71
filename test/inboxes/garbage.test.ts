import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createReceiver, memoryInbox } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { expect, it } from "vitest";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

const inARow = 64;
const rounds = 60;
/** Bytes of a delivery. The memory inbox keeps its last thousand, and the test itself leaves something behind. */
const most = 2_500;

// Memory that survives a minor collection is copied twice and waits for a major one: that took a third of all the work on a delivery.
it.each([
  ["memoryInbox", () => memoryInbox()],
  ["sqliteInbox", () => sqliteInbox(temporaryPath())],
])("a minor collection frees the garbage of a delivery: %s", async (_name, make) => {
  let handled = 0;
  let wake = (): void => {};
  const inbox = make();
  const receiver = createReceiver({
    client: { authorize: async () => "valid" },
    inbox,
    logger: false,
    observe: {
      handled: () => {
        handled++;
        wake();
      },
    },
  });
  receiver.on("*", () => {});
  await receiver.start();
  const answer = receiver.mount();
  let sent = 0;
  const round = async (): Promise<void> => {
    await Promise.all(
      Array.from({ length: inARow }, () => {
        const number = sent++;
        const body = Buffer.from(JSON.stringify({ status: "complete", report_id: `r-${number}` }));
        return answer({
          method: "POST",
          url: "/hook",
          headers: { "content-type": "application/json", "x-svc-authorization": `s-${number}` },
          readBody: () => ({ result: body, stop() {} }),
        });
      }),
    );
    while (handled < sent) await new Promise<void>((resolve) => (wake = resolve));
  };
  const used = (): number => getHeapStatistics().used_heap_size;
  for (let count = 0; count < 150; count++) await round();
  collect();
  for (let count = 0; count < rounds; count++) {
    await round();
    collect({ type: "minor" });
  }
  const left = used();
  collect();
  const bytes = (left - used()) / (rounds * inARow);
  await receiver.close();
  await inbox.close();
  expect(bytes).toBeLessThan(most);
});
