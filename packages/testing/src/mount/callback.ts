import { same } from "../assert.ts";
import { type Definition, withMountFixture } from "./fixture.ts";

const secrets = ["0123456789abcdef0123456789abcdef"];

/** Signed callback URLs: the token comes through wherever the receiver is mounted, and no further. */
export const callbackCases: readonly Definition[] = [
  {
    name: "the context of a callback URL comes back with the event, beside other parameters",
    async runOn(host) {
      const seen: unknown[] = [];
      await withMountFixture(
        host,
        {
          receiver: { callback: { secrets } },
          prepare: (receiver) =>
            void receiver.on("report", (event) => void seen.push(event.context)),
        },
        async ({ receiver, served, stored, takes }) => {
          const context = { customer: "é" };
          const { pathname, search } = new URL(await receiver.callbackUrl(served.url, { context }));
          await takes("accepted", { query: `?to=1&${search.slice(1)}&x=%C3%A9` });
          await receiver.idle({ timeoutMs: 60_000 });
          same(seen, [context], "the context");
          same(stored[0]?.url, `${pathname}?to=1&x=%C3%A9`, "path and query, without the token");
        },
      );
    },
  },
  {
    name: "404 not_found unsigned and without a valid callback token, when one is required",
    receiver: { callback: { secrets, require: true } },
    async run({ receiver, served, stored, refuses, takes }) {
      const { search } = new URL(await receiver.callbackUrl(served.url));
      for (const query of ["", "?a=1", `${search}A`]) {
        await refuses("not_found", { query, signature: null });
      }
      same(stored.length, 0, "stored");
      await takes("accepted", { query: search });
      await takes("accepted", { query: `${search}A` });
      await receiver.idle({ timeoutMs: 60_000 });
      const held = await receiver.inbox.list({ state: "held" });
      same(
        held.map(({ reason }) => reason?.code),
        ["no_token"],
        "what is held",
      );
    },
  },
];
