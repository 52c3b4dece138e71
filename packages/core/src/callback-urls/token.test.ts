import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallbackTokens } from "./token.ts";

const secret = fc.string({ minLength: 32, unit: "grapheme" });
const context = fc.oneof(
  fc.constant(""),
  fc.json(),
  fc.string({ unit: "grapheme" }).map((text) => JSON.stringify({ text })),
);
const urlSafe = fc.constantFrom(
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.",
);

describe("tokens", () => {
  it("CallbackTokens give back every context, in characters that no URL escapes", async () => {
    await fc.assert(
      fc.asyncProperty(secret, context, async (secret, context) => {
        const tokens = new CallbackTokens([secret], "reports");
        const token = await tokens.sign(context);
        expect(token).toMatch(/^[\w.-]+$/);
        expect(await tokens.verify(token)).toEqual({ kind: "context", text: context });
      }),
    );
  });

  it("CallbackTokens take no token with one character changed, added or left out", async () => {
    await fc.assert(
      fc.asyncProperty(secret, context, fc.nat(), urlSafe, async (secret, context, at, other) => {
        const tokens = new CallbackTokens([secret], "reports");
        const token = await tokens.sign(context);
        const index = at % token.length;
        const [before, after] = [token.slice(0, index), token.slice(index + 1)];
        fc.pre(token[index] !== other);
        expect(await tokens.verify(before + other + after)).toBeNull();
        expect(await tokens.verify(before + after)).toBeNull();
        expect(await tokens.verify(token + other)).toBeNull();
      }),
    );
  });

  it("CallbackTokens take no last character that decodes to the same bytes", async () => {
    const tokens = new CallbackTokens(["s".repeat(32)], "reports");
    const token = await tokens.sign("1");
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const taken: string[] = [];
    for (const last of alphabet) {
      if ((await tokens.verify(token.slice(0, -1) + last)) !== null) taken.push(last);
    }
    expect(taken).toEqual([token.at(-1)]);
  });

  it("CallbackTokens take the tokens of every secret they have and of no other, and sign with the first", async () => {
    const secrets = fc.uniqueArray(secret, { minLength: 3, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(secrets, context, async ([current, previous, foreign], context) => {
        const tokens = new CallbackTokens([current as string, previous as string], "reports");
        const made = await tokens.sign(context);
        expect(await new CallbackTokens([current as string], "reports").verify(made)).toEqual({
          kind: "context",
          text: context,
        });
        const older = await new CallbackTokens([previous as string], "reports").sign(context);
        expect(await tokens.verify(older)).toEqual({ kind: "context", text: context });
        const theirs = await new CallbackTokens([foreign as string], "reports").sign(context);
        expect(await tokens.verify(theirs)).toBeNull();
      }),
    );
  });

  it("CallbackTokens never take a context for the id of a request, or the other way round", async () => {
    await fc.assert(
      fc.asyncProperty(secret, fc.string({ unit: "grapheme" }), async (secret, text) => {
        const tokens = new CallbackTokens([secret], "reports");
        for (const kind of ["context", "request"] as const) {
          const token = await tokens.sign(text, kind);
          expect(await tokens.verify(token)).toEqual({ kind, text });
          const other = `${token.startsWith("1") ? "2" : "1"}${token.slice(1)}`;
          expect(await tokens.verify(other)).toBeNull();
        }
      }),
    );
  });

  it("CallbackTokens take no token of another receiver", async () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[\w.-]{1,8}$/), {
      minLength: 2,
      maxLength: 2,
    });
    await fc.assert(
      fc.asyncProperty(names, secret, context, async ([one = "", other = ""], secret, context) => {
        const token = await new CallbackTokens([secret], one).sign(context);
        expect(await new CallbackTokens([secret], one).verify(token)).toEqual({
          kind: "context",
          text: context,
        });
        expect(await new CallbackTokens([secret], other).verify(token)).toBeNull();
      }),
    );
  });

  it("CallbackTokens take no other text", async () => {
    const tokens = new CallbackTokens(["s".repeat(32)], "reports");
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.string({ unit: urlSafe })), async (text) => {
        expect(await tokens.verify(text)).toBeNull();
      }),
    );
  });
});
