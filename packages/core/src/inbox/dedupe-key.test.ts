import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type DedupeInput, dedupeKey } from "./dedupe-key.ts";

const base: DedupeInput = {
  receiver: "reports",
  signature: "s",
  url: "/hook",
  body: new TextEncoder().encode("{}"),
};
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const of = async (parts: Partial<DedupeInput> = {}): Promise<string> =>
  hex(await dedupeKey({ ...base, ...parts }));

afterEach(() => {
  vi.restoreAllMocks();
  vi.resetModules();
});

describe("keys", () => {
  it("dedupeKey() gives the same 24 bytes for the same delivery", async () => {
    expect(await of()).toBe(await of({ body: new Uint8Array(base.body) }));
    expect((await dedupeKey(base)).byteLength).toBe(24);
  });

  it("dedupeKey() keeps its first half when only url or body differ", async () => {
    const half = (await of()).slice(0, 24);
    for (const parts of [{ url: "/hook?" }, { body: new Uint8Array() }]) {
      const other = await of(parts);
      expect(other.slice(0, 24)).toBe(half);
      expect(other.slice(24)).not.toBe((await of()).slice(24));
    }
  });

  it("dedupeKey() keeps its second half when only the signature differs", async () => {
    const [one, other] = [await of(), await of({ signature: "t" })];
    expect(other.slice(24)).toBe(one.slice(24));
    expect(other.slice(0, 24)).not.toBe(one.slice(0, 24));
  });

  it("dedupeKey() shares no half between receivers", async () => {
    const [one, other] = [await of(), await of({ receiver: "other" })];
    expect(other.slice(0, 24)).not.toBe(one.slice(0, 24));
    expect(other.slice(24)).not.toBe(one.slice(24));
  });

  it("dedupeKey() differs whenever a part does", async () => {
    const identity = fc.record({
      receiver: fc.string({ maxLength: 3 }),
      signature: fc.string({ maxLength: 3 }),
      url: fc.string({ maxLength: 3 }),
      body: fc.uint8Array({ maxLength: 3 }),
    });
    const text = ({ body, ...rest }: DedupeInput): string => JSON.stringify([rest, [...body]]);
    await fc.assert(
      fc.asyncProperty(identity, identity, async (one, other) => {
        const equal = hex(await dedupeKey(one)) === hex(await dedupeKey(other));
        expect(equal).toBe(text(one) === text(other));
      }),
    );
  });

  it("dedupeKey() is made of SHA-256 as it was when the keys in people's inboxes were made", async () => {
    const sha = (...parts: (string | Uint8Array)[]): string => {
      const hash = createHash("sha256");
      for (const part of parts) hash.update(part);
      return hash.digest("hex").slice(0, 24);
    };
    for (const url of ["/hook", `/${"ü€".repeat(2_000)}`]) {
      for (const size of [0, 1, 8_170, 8_192, 100_000]) {
        const body = new Uint8Array(size).map((_, at) => at % 251);
        const expected = sha("7:reports", "s") + sha(`7:reports${url.length}:`, url, body);
        expect(await of({ url, body })).toBe(expected);
      }
    }
  });

  it("dedupeKey() gives the same where there is only the web's crypto", async () => {
    vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never);
    vi.resetModules();
    const web = await import("./dedupe-key.ts");
    expect(web.dedupeKey).not.toBe(dedupeKey);
    expect(hex(await web.dedupeKey(base))).toBe(await of());
  });
});
