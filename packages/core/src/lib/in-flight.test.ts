import { describe, expect, it } from "vitest";
import { InFlight } from "./in-flight.ts";

describe("InFlight", () => {
  it("has what was added and not deleted, and gives a slot again", () => {
    const running = new InFlight<string>();
    const [one, two] = [running.add("one"), running.add("two")];
    running.delete(one);
    const three = running.add("three");
    expect(running.items.toSorted()).toEqual(["three", "two"]);
    running.delete(two);
    running.delete(three);
    expect(running.items).toEqual([undefined, undefined]);
  });
});
