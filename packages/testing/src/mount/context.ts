import { createReceiver, type Incoming, memoryInbox, type Receiver } from "@reporthook/core";
import { same } from "../assert.ts";
import { asyncStorage, type Storage } from "../runtime.ts";
import { type Definition, sendTo } from "./fixture.ts";
import type { MountedReceiver, MountHost } from "./host.ts";

const ways = [{}, { verify: "before-ack" }, { ack: "handled" }] as const;

/** Whose async context the functions of a receiver run in. */
export const contextCases: readonly Definition[] = [
  {
    name: "the handlers and authorize run in the async context in which the receiver was made",
    async runOn(host) {
      const storage = asyncStorage();
      if (storage === null) return;
      for (const way of ways) {
        same(await contextsOf(host, storage, way), ["made"], JSON.stringify(way));
      }
    },
  },
];

async function contextsOf(
  host: MountHost,
  storage: Storage,
  way: (typeof ways)[number],
): Promise<readonly unknown[]> {
  const seen = new Set<unknown>();
  const see = (): void => void seen.add(storage.getStore());
  const receiver = storage.run("made", () =>
    createReceiver({
      client: {
        async authorize() {
          see();
          return "valid";
        },
      },
      inbox: memoryInbox({ acceptLoss: true }),
      logger: { warn: see, info: see },
      ...way,
    }),
  );
  receiver.on("report", see);
  const served = await host.serve(insideRequests(receiver, storage), { consumed: false });
  try {
    for (const signature of ["valid-1", "valid-2"]) {
      same((await sendTo(served, { signature })).status, 200, "the answer");
      await receiver.idle({ timeoutMs: 60_000 });
    }
  } finally {
    await served.close();
    await receiver.close();
  }
  return [...seen];
}

/** As an app does that gives each request a context. */
function insideRequests(receiver: Receiver, storage: Storage): MountedReceiver {
  return {
    mount() {
      const answer = receiver.mount();
      return (incoming: Incoming, context) =>
        storage.run("a request", () => answer(incoming, context));
    },
    fetch: (request, context) => storage.run("a request", () => receiver.fetch(request, context)),
  };
}
