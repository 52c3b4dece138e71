import { toResponse, type Verdict } from "@reporthook/core";
import { same } from "../assert.ts";
import { deferred } from "../deferred.ts";
import { manualClock } from "../manual-clock.ts";
import {
  completeReport,
  type Definition,
  expectLength,
  sendTo,
  withMountFixture,
} from "./fixture.ts";

const never = (): Promise<never> => new Promise(() => {});
const text = { "content-type": "text/plain" };
const test = '{"event_type":"test_webhook_endpoint","payload":"hello"}';

/** One case or more for each row of the contract's table of answers. */
export const answerCases: readonly Definition[] = [
  {
    name: "200 accepted once a notification is stored",
    async run({ takes, stored, receiver, served }) {
      const id = await takes("accepted", { query: "?to=1&to=%C3%A9" });
      same(stored[0]?.id, id, "the id");
      const { pathname } = new URL(served.url);
      same(stored[0]?.url, `${pathname}?to=1&to=%C3%A9`, "path and query, prefix included");
      await receiver.idle({ timeoutMs: 60_000 });
      same((await receiver.inbox.get(id))?.state, "handled", "the state");
    },
  },
  {
    name: "200 duplicate when the same bytes come again with the same signature",
    async run({ takes }) {
      const id = await takes("accepted");
      same(await takes("duplicate"), id, "the duplicate's id");
      for (const other of [{ query: "?x" }, { body: `${completeReport} ` }]) {
        same((await takes("accepted", other)) === id, false, "another one's id is the first's");
      }
    },
  },
  {
    name: "200 accepted twice when the same comes unsigned",
    async run({ takes }) {
      const first = await takes("accepted", { signature: null });
      const second = await takes("accepted", { signature: null });
      same(first === second, false, "unsigned ones are one");
    },
  },
  {
    name: "200 accepted before authorize answers",
    async runOn(host) {
      const events: string[] = [];
      const verdict = deferred<Verdict>();
      const authorize = (): Promise<Verdict> =>
        verdict.promise.then((value) => {
          events.push("authorized");
          return value;
        });
      const prepare = (receiver: { on(name: "report", handler: () => void): unknown }): void => {
        receiver.on("report", () => {
          events.push("handled");
        });
      };
      await withMountFixture(
        host,
        { receiver: { client: { authorize } }, prepare },
        async ({ takes, receiver }) => {
          await takes("accepted");
          events.push("answered");
          verdict.resolve("valid");
          await receiver.idle({ timeoutMs: 60_000 });
        },
      );
      same(events, ["answered", "authorized", "handled"], "the order");
    },
  },
  ...["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].map(
    (method): Definition => ({
      name: `405 method_not_allowed for ${method}`,
      needs: "all methods",
      async run({ refuses, stored }) {
        await refuses("method_not_allowed", { method });
        same(stored.length, 0, "stored");
      },
    }),
  ),
  {
    name: "503 closing once the receiver with a memory inbox is closed",
    async run({ receiver, refuses }) {
      await receiver.close();
      await refuses("closing");
    },
  },
  {
    name: "503 overloaded when too many are waiting",
    receiver: { autostart: false, limits: { waiting: 1 } },
    async run({ takes, refuses }) {
      await takes("accepted");
      await refuses("overloaded", { signature: "valid-2" });
    },
  },
  {
    name: "503 overloaded when too many are unverified",
    receiver: { autostart: false, limits: { unverified: 1 } },
    async run({ takes, refuses }) {
      await takes("accepted");
      await refuses("overloaded", { signature: "valid-2" });
    },
  },
  {
    name: "413 body_too_large for an unsigned body over 4 KiB",
    async run({ refuses, takes }) {
      const sized = (bytes: number): string => `{"a":"${"x".repeat(bytes - 8)}"}`;
      await takes("accepted", { signature: null, body: sized(4_096) });
      await refuses("body_too_large", { signature: null, body: sized(4_097) });
    },
  },
  {
    name: "413 body_too_large for a body of known length over the limit",
    receiver: { limits: { bodyBytes: completeReport.length } },
    async run({ refuses, takes }) {
      await takes("accepted");
      await refuses("body_too_large", { body: `${completeReport} ` });
    },
  },
  {
    name: "500 body_unavailable when something ahead consumed the body",
    consumed: true,
    async run({ refuses, stored }) {
      await refuses("body_unavailable");
      same(stored.length, 0, "stored");
    },
  },
  {
    name: "415 unsupported_media_type for an unsigned body that is not JSON",
    run: ({ refuses }) => refuses("unsupported_media_type", { signature: null, headers: text }),
  },
  {
    name: "200 accepted for unsigned JSON of a vendor's type",
    async run({ takes }) {
      const headers = { "content-type": "application/vnd.my_app+json" };
      await takes("accepted", { signature: null, headers });
    },
  },
  {
    name: "200 accepted for a signed body of any content type",
    async run({ takes, receiver }) {
      const id = await takes("accepted", { headers: text });
      await receiver.idle({ timeoutMs: 60_000 });
      same((await receiver.inbox.get(id))?.state, "handled", "the state");
    },
  },
  {
    name: "401 missing_signature when the options refuse unsigned notifications",
    receiver: { unsigned: "refuse", unsignedTests: "refuse" },
    async run({ refuses }) {
      await refuses("missing_signature", { signature: null });
      await refuses("missing_signature", { signature: "  ", body: test });
    },
  },
  {
    name: "401 missing_signature for the eleventh unsigned one of a second",
    runOn: (host) =>
      withMountFixture(host, { receiver: { clock: manualClock() } }, async ({ takes, refuses }) => {
        for (let count = 0; count < 10; count++) await takes("accepted", { signature: null });
        await refuses("missing_signature", { signature: null, body: test });
        await takes("accepted");
      }),
  },
  {
    name: "503 inbox_unavailable when the inbox hangs",
    receiver: { limits: { ackMs: 50 } },
    add: never,
    run: ({ refuses }) => refuses("inbox_unavailable"),
  },
  {
    name: "503 inbox_unavailable when the inbox rejects or throws",
    async runOn(host) {
      const failed = (): never => {
        throw new Error("disk full");
      };
      for (const add of [failed, async () => failed()]) {
        await withMountFixture(host, { add }, ({ refuses }) => refuses("inbox_unavailable"));
      }
    },
  },
  {
    name: "content-length counts bytes when the answer is not ASCII",
    async runOn(host) {
      const body = '{"status":"größer, 漢字, 🎉"}';
      const answer = { status: 207, headers: { "Content-Type": "application/json" }, body };
      const served = await host.serve(
        {
          mount: () => async () => answer,
          fetch: async () => toResponse(answer),
        },
        { consumed: false },
      );
      try {
        const got = await sendTo(served, {});
        same([got.status, got.text], [207, body], "the answer");
        expectLength(served, got);
      } finally {
        await served.close();
      }
    },
  },
];
