import { describe, expect, it, vi } from "vitest";
import { memoryInbox } from "./memory-inbox.ts";
import { takeName } from "./names.ts";

describe("takeName()", () => {
  it("throws when the name is taken on the same store, by whatever object", () => {
    const identity = "/data/inbox.db";
    const inboxes = [1, 2].map(() => Object.assign(memoryInbox(), { identity }));
    const [one, two] = inboxes as [ReturnType<typeof memoryInbox>, ReturnType<typeof memoryInbox>];
    takeName(one, "reports", false);
    expect(() => takeName(two, "reports", false)).toThrow(TypeError);
    takeName(two, "others", false);
    takeName(memoryInbox(), "reports", false);
  });

  it("throws when somebody chose the name twice, on whatever store, until it is given back", async () => {
    const first = takeName(memoryInbox(), "chosen", true);
    expect(() => takeName(memoryInbox(), "chosen", true)).toThrow(
      'createReceiver: name "chosen" is taken: close the other receiver, or give this one another name',
    );
    takeName(memoryInbox(), "chosen", false);
    await first.giveBack();
    takeName(memoryInbox(), "chosen", true);
  });

  it("closes the inbox with the last name, and says when that fails", async () => {
    const inbox = memoryInbox();
    const close = vi.spyOn(inbox, "close").mockRejectedValueOnce(new Error("busy"));
    const [one, two] = [takeName(inbox, "one", false), takeName(inbox, "two", false)];
    await one.giveBack();
    expect(close).not.toHaveBeenCalled();
    await expect(two.giveBack()).rejects.toMatchObject({ code: "inbox_failed" });
    await takeName(inbox, "one", false).giveBack();
    expect(close).toHaveBeenCalledTimes(2);
  });
});
