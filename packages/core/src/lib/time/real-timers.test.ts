import { mock } from "node:test";
import { afterEach, describe, expect, it, vi } from "vitest";

afterEach(() => {
  vi.useRealTimers();
  mock.timers.reset();
  vi.unstubAllGlobals();
  vi.resetModules();
});

const runners: Record<string, () => unknown> = {
  "Vitest, as Jest and Sinon do": () => vi.useFakeTimers(),
  "node:test": () => mock.timers.enable({ apis: ["setTimeout", "setImmediate"] }),
  "Jest's legacy timers": () => {
    for (const name of ["setTimeout", "setImmediate"]) {
      vi.stubGlobal(
        name,
        Object.assign(() => {}, { _isMockFunction: true }),
      );
    }
  },
};

describe("test runners", () => {
  it.each(Object.entries(runners))(
    "the timers of a test runner hold up no answer and no handler: %s",
    async (_name, replace) => {
      replace();
      vi.resetModules();
      const { createReceiver } = await import("../../receiver.ts");
      const { memoryInbox } = await import("../../inbox/memory/memory-inbox.ts");
      const receiver = createReceiver({
        client: { authorize: async () => "valid" },
        inbox: memoryInbox(),
        logger: false,
      });
      const handled: string[] = [];
      receiver.on("report", ({ id }) => void handled.push(id));
      const send = async (number: number): Promise<number> => {
        const headers = {
          "x-svc-authorization": `s-${number}`,
          "content-type": "application/json",
        };
        const init = { method: "POST", headers, body: '{"status":"complete"}' };
        return (await receiver.fetch(new Request("http://localhost/", init))).status;
      };
      // More than are handed out in a row.
      const answers = await Promise.all(Array.from({ length: 250 }, (_, number) => send(number)));
      expect(new Set(answers)).toEqual(new Set([200]));
      await receiver.idle();
      expect(handled).toHaveLength(250);
      await receiver.close();
    },
  );
});
