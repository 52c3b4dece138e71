import { describe, expect, it } from "vitest";
import { Running } from "./in-flight.ts";

describe("Running", () => {
  it("has what was added and not deleted, and gives a place again", () => {
    const running = new Running<string>();
    const [one, two] = [running.add("one"), running.add("two")];
    running.delete(one);
    const three = running.add("three");
    expect(running.items.toSorted()).toEqual(["three", "two"]);
    running.delete(two);
    running.delete(three);
    expect(running.items).toEqual([undefined, undefined]);
  });
});
