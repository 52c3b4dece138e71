import { same, sameEach } from "../assert.ts";
import { endedAs, handled, type InboxCase, later, valid } from "./fixture.ts";

const hourMs = 3_600_000;

/** How an inbox recognises copies of a delivery, and a signature that comes again. */
export const duplicates: readonly InboxCase[] = [
  {
    name: "add() names the first delivery when its key comes again, in every state of that delivery",
    async run({ inbox, make, put, add, work }) {
      const again = async (id: string, what: string): Promise<void> =>
        same(await add(await make(parts)), { status: "duplicate", id }, what);
      const parts = { signature: "s", body: "{}" };
      const id = await put(parts);
      await again(id, "While received");
      await work("verify", async () => {
        await again(id, "While being verified");
        return later(0);
      });
      await again(id, "While to be verified again");
      await work("verify", valid);
      await again(id, "While verified");
      await work("handle", async () => {
        await again(id, "While being handled");
        return handled;
      });
      await again(id, "When handled");
      same((await inbox.list()).length, 1, "How many are stored");
    },
  },
  {
    name: "add() takes one of many copies that come at once",
    async run({ inbox, make, add }) {
      const parts = { signature: "s", body: "{}" };
      const copies = await Promise.all(Array.from({ length: 50 }, () => make(parts)));
      const answers = await Promise.all(copies.map((copy) => add(copy)));
      const added = answers.filter(({ status }) => status === "added");
      same(added.length, 1, "How many were added");
      same(new Set(answers.map(({ id }) => id)).size, 1, "How many ids were named");
      sameEach(await inbox.list(), "id", [added[0]?.id], "What is stored");
    },
  },
  {
    name: "add() calls the copy of a parked delivery a duplicate",
    async run({ make, put, add, work }) {
      for (const to of ["held", "dead"] as const) {
        const parts = { signature: to, body: "{}" };
        const id = await put(parts);
        await work("verify", valid);
        await work("handle", endedAs(to, "do_not_retry"));
        same(await add(await make(parts)), { status: "duplicate", id }, `When ${to}`);
      }
    },
  },
  {
    name: "add() calls the copy of a rejected delivery a duplicate",
    async run({ make, put, add, work }) {
      const parts = { signature: "s", body: "{}" };
      const id = await put(parts);
      await work("verify", endedAs("rejected", "invalid_signature"));
      same(await add(await make(parts)), { status: "duplicate", id }, "The copy");
    },
  },
  {
    name: "add() takes the same key as new 24 hours after the first",
    needs: ["clock"],
    async run({ inbox, clock, make, put, add }) {
      const parts = { signature: "s", body: "{}" };
      const id = await put(parts);
      clock.advance(23 * hourMs);
      same(await add(await make(parts)), { status: "duplicate", id }, "After 23 hours");
      clock.advance(hourMs + 1_000);
      const second = await put(parts);
      same(await add(await make(parts)), { status: "duplicate", id: second }, "A third one");
      same((await inbox.list()).length, 2, "How many are stored");
    },
  },
  {
    name: "add() does not share keys between receivers",
    async run({ inbox, put }) {
      const parts = { signature: "s", body: "{}" };
      const [one, other] = [await put(parts), await put({ ...parts, receiver: "b" })];
      sameEach(await inbox.list({ receiver: "a" }), "id", [one], "Those of a");
      sameEach(await inbox.list({ receiver: "b" }), "id", [other], "Those of b");
    },
  },
  {
    name: "add() stores a delivery as new when its query, bytes or signature differ",
    async run({ inbox, put }) {
      const parts = { signature: "s", body: "{}", url: "/hook" };
      await put(parts);
      await put({ ...parts, url: "/hook?x" });
      await put({ ...parts, body: "{ }" });
      await put({ ...parts, signature: "t" });
      same((await inbox.counts("a")).received, 4, "How many are stored");
    },
  },
  {
    name: "add() names an earlier delivery with the same signature and other bytes",
    needs: ["reuse"],
    async run({ inbox, make, add, put, work }) {
      const id = await put({ signature: "s", body: "1" });
      const second = await make({ signature: "s", body: "2" });
      const expected = { status: "added", id: second.id, sameSignatureAs: id };
      same(await add(second), expected, "The second one");
      await work("verify", valid, valid);
      const third = await add(await make({ signature: "s", body: "3" }));
      same("sameSignatureAs" in third, true, "Whether the third one names another");
      const foreign = await add(await make({ signature: "s", body: "4", receiver: "b" }));
      same("sameSignatureAs" in foreign, false, "Whether one of another receiver does");
      same((await inbox.counts("a")).held, 0, "How many are held");
    },
  },
  {
    name: "add() names the deliveries with the same signature that are left, once the first is discarded",
    needs: ["reuse"],
    async run({ act, make, add, put, work }) {
      const first = await put({ signature: "s", body: "1" });
      const second = await put({ signature: "s", body: "2" });
      await work("verify", endedAs("held", "expired"), endedAs("held", "expired"));
      await act("discard", first);
      const third = await make({ signature: "s", body: "3" });
      const expected = { status: "added", id: third.id, sameSignatureAs: second };
      same(await add(third), expected, "The third one");
      await act("discard", second);
      const copy = await make({ signature: "s", body: "1" });
      same(
        await add(copy),
        { status: "added", id: copy.id, sameSignatureAs: third.id },
        "A copy of the first one",
      );
    },
  },
  {
    name: "consume() tells work of the earlier delivery with the same signature, as long as that is kept",
    needs: ["reuse"],
    async run({ act, make, add, put, work }) {
      const id = await put({ signature: "s", body: "1" });
      const jobs = [...(await work("verify", valid))];
      await add(await make({ signature: "s", body: "2" }));
      jobs.push(...(await work("verify", valid)));
      const told = jobs.map(({ sameSignatureAs }) => sameSignatureAs);
      same(told, [null, id], "What the work was told");
      const [, job] = await work("handle", { to: "handled" }, endedAs("held", "reused_signature"));
      same(job?.sameSignatureAs, id, "What the handle stage was told");
      await act("discard", job?.id ?? "");
      const third = await add(await make({ signature: "s", body: "3" }));
      same("sameSignatureAs" in third, true, "Whether the next one names the first");
    },
  },
];
