import { expect, describe as group, it } from "vitest";
import { account, shownError } from "./thrown.ts";

const clean = (text: string): string => text.replaceAll("s3cret", "[api key]");

function thrown(): Error {
  const cause = Object.assign(new RangeError("below s3cret"), { code: "E_BELOW" });
  return new TypeError("above s3cret", { cause });
}

group("account", () => {
  it("account() has the line, the first frames and the causes, without the key", () => {
    const lines = account(thrown(), clean).split("\n");
    expect(lines[0]).toBe("TypeError: above [api key]");
    expect(lines[1]).toMatch(/^ {4}at thrown \(.*thrown\.test\.ts:\d+:\d+\)$/);
    expect(lines[4]).toBe("  caused by RangeError: below [api key]");
    expect(lines[5]).toMatch(/^ {4}at thrown /);
  });

  it("account() is short, whatever was thrown", () => {
    const cyclic = new AggregateError([], "around", { cause: "x".repeat(5_000) });
    cyclic.errors.push(...Array.from({ length: 100 }, () => cyclic));
    expect(account(cyclic, clean).length).toBe(1_000);
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(account(proxy, clean)).toBe("Thrown value of type object");
    expect(account("s3cret", clean)).toBe("[api key]");
  });
});

group("shownError", () => {
  it("shownError() is an Error with stack, code and causes, and without the key", () => {
    const error = Object.assign(thrown(), { config: { key: "s3cret" }, code: "E_ABOVE" });
    const shown = shownError(error, clean) as Error & { cause: Error & { code: string } };
    expect(shown).toBeInstanceOf(Error);
    expect(shown).toMatchObject({ name: "TypeError", message: "above [api key]", code: "E_ABOVE" });
    expect(shown.stack).toBe(clean(String(error.stack)));
    expect(shown.cause).toMatchObject({ name: "RangeError", code: "E_BELOW" });
    expect(shown.cause.stack).toContain("thrown.test.ts");
    expect(Object.keys(shown)).toEqual(["code"]);
  });

  it("shownError() steers no terminal", () => {
    const { message, stack } = shownError(new Error("a\u001b[2Jb\u202e"), clean);
    expect(message).toBe("a\\u001b[2Jb\\u202e");
    for (const char of ["\u001b", "\u202e"]) expect(stack).not.toContain(char);
  });

  it("shownError() has the errors that one joins, and takes anything", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const joined = new AggregateError([new Error("one"), proxy, "s3cret"], "Several");
    const messages = (shownError(joined, clean) as AggregateError).errors.map(
      ({ message }: Error) => message,
    );
    expect(messages).toEqual(["one", "Thrown value of type object", "[api key]"]);
  });
});
