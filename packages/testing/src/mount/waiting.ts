import { same } from "../assert.ts";
import { type Definition, withMountFixture } from "./fixture.ts";

const never = (): Promise<never> => new Promise(() => {});

/** The answers that wait: for a verdict (`verify: "before-ack"`), or for the handlers (`ack: "handled"`). */
export const waitingCases: readonly Definition[] = [
  {
    name: "401 invalid_signature with before-ack",
    receiver: { verify: "before-ack" },
    async run({ takes, refuses, stored, receiver }) {
      await refuses("invalid_signature", { signature: "forged-1" });
      same(stored.length, 0, "stored");
      const id = await takes("accepted");
      await receiver.idle({ timeoutMs: 60_000 });
      same((await receiver.inbox.get(id))?.state, "handled", "the state");
    },
  },
  {
    name: "401 expired_signature with before-ack and expired: refuse",
    receiver: { verify: "before-ack", expired: "refuse" },
    run: ({ refuses }) => refuses("expired_signature", { signature: "old-1" }),
  },
  {
    name: "200 accepted with before-ack when authorize gives no answer in time",
    receiver: {
      verify: "before-ack",
      autostart: false,
      limits: { verifyMs: 20 },
      client: { authorize: never },
    },
    async run({ takes }) {
      await takes("accepted");
    },
  },
  {
    name: "200 accepted with ack: handled once the handlers are done",
    async runOn(host) {
      const ids: string[] = [];
      await withMountFixture(
        host,
        {
          receiver: { ack: "handled" },
          prepare: (receiver) => {
            receiver.on("report.complete", (event) => {
              ids.push(event.id);
            });
          },
        },
        async ({ takes }) => same([await takes("accepted")], ids, "the handled ids"),
      );
    },
  },
  {
    name: "503 not_handled and 401 with ack: handled, and nothing of the handler's error",
    receiver: { ack: "handled" },
    prepare: (receiver) => {
      receiver.on("report", () => {
        throw new Error("a secret");
      });
    },
    async run({ refuses }) {
      await refuses("not_handled");
      await refuses("invalid_signature", { signature: "forged-1" });
      await refuses("expired_signature", { signature: "old-1" });
      await refuses("missing_signature", { signature: null });
    },
  },
  {
    name: "503 not_handled with ack: handled when a handler outlasts the deadline",
    receiver: { ack: "handled", limits: { ackMs: 50 } },
    prepare: (receiver) => {
      receiver.on("report", never);
    },
    run: ({ refuses }) => refuses("not_handled"),
  },
];
