import { describe, expect, it, vi } from "vitest";
import { memoryInbox } from "./memory-inbox.ts";
import { takeName } from "./names.ts";

describe("takeName()", () => {
  it("throws when the name is taken on the same store, by whatever object", () => {
    const identity = "/data/inbox.db";
    const inboxes = [1, 2].map(() => Object.assign(memoryInbox(), { identity }));
    const [one, two] = inboxes as [ReturnType<typeof memoryInbox>, ReturnType<typeof memoryInbox>];
    takeName(one, "reports");
    expect(() => takeName(two, "reports")).toThrow(TypeError);
    takeName(two, "others");
    takeName(memoryInbox(), "reports");
  });

  it("closes the inbox with the last name, and says when that fails", async () => {
    const inbox = memoryInbox();
    const close = vi.spyOn(inbox, "close").mockRejectedValueOnce(new Error("busy"));
    const [one, two] = [takeName(inbox, "one"), takeName(inbox, "two")];
    await one.giveBack();
    expect(close).not.toHaveBeenCalled();
    await expect(two.giveBack()).rejects.toMatchObject({ code: "inbox_failed" });
    await takeName(inbox, "one").giveBack();
    expect(close).toHaveBeenCalledTimes(2);
  });
});
