import { describe, expect, it } from "vitest";
import { memoryInbox } from "./memory/memory-inbox.ts";
import { takeName } from "./receiver-names.ts";

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

  it("throws when somebody chose the name twice, on whatever store, until it is given back", () => {
    const first = takeName(memoryInbox(), "chosen", true);
    expect(() => takeName(memoryInbox(), "chosen", true)).toThrow(
      'createReceiver: name "chosen" is taken: close the other receiver, or give this one another name',
    );
    takeName(memoryInbox(), "chosen", false);
    first.giveBack();
    takeName(memoryInbox(), "chosen", true);
  });
});
