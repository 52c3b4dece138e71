import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { keyRefused } from "@reporthook/core/internals";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readableJson, redactText } from "./json-text.ts";

describe("JSON", () => {
  it("readableJson() indents, and keeps every spelling", () => {
    const text = '{"a":1.0,"big":12345678901234567890,"b":[],"c":{},"d":[1,{"e":"\\u00e9"}]}';
    expect(readableJson(text)).toBe(
      `{\n  "a": 1.0,\n  "big": 12345678901234567890,\n  "b": [],\n  "c": {},\n  "d": [\n    1,\n    {\n      "e": "\\u00e9"\n    }\n  ]\n}`,
    );
  });

  it("readableJson() says the same as the body that came", () => {
    const safe = fc.jsonValue().filter((value) => typeof value === "object" && value !== null);
    fc.assert(
      fc.property(safe, (value) => {
        const text = JSON.stringify(value);
        const shown = readableJson(text) ?? "";
        if (!shown.includes("[removed]")) expect(JSON.parse(shown)).toEqual(JSON.parse(text));
      }),
    );
  });

  it("readableJson() removes fields named like a secret, of any value and any spelling of the name", () => {
    const text =
      '{"api_key":"hush","x-svc-authorization":["hush",{"a":"hush"}],"to\\u006ben":{"b":"hush"},"Password":7,"accessToken":"hush","clientSecret":"hush","my_api_key":"hush","kept":1,"tokens":2}';
    const shown = JSON.parse(readableJson(text) ?? "") as object;
    expect(shown).toEqual({
      api_key: "[removed]",
      "x-svc-authorization": "[removed]",
      token: "[removed]",
      Password: "[removed]",
      accessToken: "[removed]",
      clientSecret: "[removed]",
      my_api_key: "[removed]",
      kept: 1,
      tokens: 2,
    });
  });

  it("readableJson() removes keys, tokens and words to pass by, and leaves what is only called alike", () => {
    const hidden = [
      "secret_key",
      "secretKey",
      "pwd",
      "passphrase",
      "tokens",
      "passwords",
      "Cookie",
    ];
    const shown = ["token_count", "tokens", "author", "public_key", "tokenizer", "design"];
    const of = (names: string[], value: unknown) =>
      Object.fromEntries(names.map((name) => [name, value]));
    const secrets = readableJson(JSON.stringify(of(hidden, ["hush"]))) ?? "";
    expect(JSON.parse(secrets)).toEqual(of(hidden, "[removed]"));
    const numbers = JSON.stringify(of(shown, 3));
    expect(JSON.parse(readableJson(numbers) ?? "")).toEqual(of(shown, 3));
  });

  it("readableJson() removes whole secrets from the JSON in its strings, at any depth", () => {
    const inner = { user: "Ada", password: 'correct "horse" battery', kept: "so" };
    const text = JSON.stringify({ raw: JSON.stringify({ raw: JSON.stringify(inner) }) });
    const raw = JSON.parse(readableJson(text) ?? "").raw as string;
    expect(JSON.parse(JSON.parse(raw).raw)).toEqual({ ...inner, password: "[removed]" });
  });

  it("readableJson() removes lists and objects of secrets from the JSON in its strings", () => {
    for (const value of [["hush", { a: "hush" }], { value: "hush" }, [["hush"], "hush"]]) {
      const raw = JSON.stringify({ token: value, api_keys: value, tokens: 3, kept: [1] });
      const shown = JSON.parse(readableJson(JSON.stringify({ raw })) ?? "").raw as string;
      const rest = { tokens: 3, kept: [1] };
      expect(JSON.parse(shown)).toEqual({ token: "[removed]", api_keys: "[removed]", ...rest });
    }
    const harmless = JSON.stringify({ raw: '{"a":[1,2]}' });
    expect(JSON.parse(readableJson(harmless) ?? "")).toEqual(JSON.parse(harmless));
  });

  it("readableJson() stays within a small multiple of the body's length, at any depth", () => {
    const deep = (depth: number) =>
      `{"a":${"[".repeat(depth)}{"token":"hush","b":[1,2]}${"]".repeat(depth)}}`;
    for (const depth of [4_000, 60_000]) {
      const shown = readableJson(deep(depth)) ?? "";
      expect(shown.length).toBeLessThan(2 * deep(depth).length);
      expect(shown.replaceAll(/\s/g, "")).toBe(deep(depth).replace("hush", "[removed]"));
    }
    const wide = `[${Array(5_000).fill("[[[[[[[[[[[[[1,2]]]]]]]]]]]]]").join()}]`;
    expect(readableJson(wide)?.length).toBeLessThan(15 * wide.length);
  });

  it("readableJson() goes on in one line where it is too deep to read", () => {
    const shown = readableJson(`${"[".repeat(11)}1,{"a":2}${"]".repeat(11)}`) ?? "";
    expect(shown.split("\n").at(10)?.trim()).toBe('[1, {"a": 2}]');
    expect(shown.split("\n")).toHaveLength(21);
  });

  it("readableJson() ends where it would be too long, and never within what it would remove", () => {
    const long = "x".repeat(300);
    const text = JSON.stringify({ a: 1, token: long, b: [1, 2], note: `token=hush ${long}`, c: 3 });
    const whole = readableJson(text) ?? "";
    for (let longest = 0; longest <= whole.length; longest++) {
      const shown = readableJson(text, longest) ?? "";
      expect(shown.length).toBeLessThanOrEqual(longest + 1);
      if (longest === whole.length) expect(shown).toBe(whole);
      else expect(whole.startsWith(shown.slice(0, -1)) && shown.endsWith("…")).toBe(true);
      expect(shown).not.toMatch(/hush/);
    }
  });

  it.each(["", "no", "1", '"text"', "{", '{"a":}'])("readableJson() is null for %j", (text) => {
    expect(readableJson(text)).toBeNull();
  });
});

describe("text", () => {
  it.each([
    ["https://a.example/?api_key=hush&b=1", "https://a.example/?api_key=[removed]&b=1"],
    ["X-Amz-Signature=hush", "X-Amz-Signature=[removed]"],
    ["Authorization: Bearer hush-hush.hush", "Authorization: [removed]"],
    ["sent with Bearer hush-hush.hush", "sent with Bearer [removed]"],
    [
      'it said {\\"token\\":\\"hush\\",\\"b\\":1}',
      'it said {\\"token\\":\\"[removed]\\",\\"b\\":1}',
    ],
    ["password = hush", "password = [removed]"],
    ["authorization=Token hush b", "authorization=[removed] b"],
    ["password='hush hush', b", "password='[removed]', b"],
    ['{"pwd":"hush hush","b":1}', '{"pwd":"[removed]","b":1}'],
    ['cut off: {"secret_key":"hush hus', 'cut off: {"secret_key":"[removed]"'],
    ["Authorization: Token hush", "Authorization: [removed]"],
    ["postgres://ada:hush@db.example/x", "postgres://ada:[removed]@db.example/x"],
    ["redis://:hu@sh@db.example", "redis://:[removed]@db.example"],
    ["Authorization: ApiKey hush hush", "Authorization: [removed]"],
    ["Cookie: a=1; session=hush", "Cookie: [removed]"],
    ["passwords: hush, b", "passwords: [removed], b"],
    ["tokens=[hush, hush], b", "tokens=[removed], b"],
    ['cut off: {"credentials":{"user":"hush","b', 'cut off: {"credentials":[removed]'],
    ['said {"a":"http://b:80","c":"d@e"}', 'said {"a":"http://b:80","c":"d@e"}'],
    ["http://a.example:80/x@y and b:c@d", "http://a.example:80/x@y and b:c@d"],
    ["4096 tokens: 5000 came, the author: Ada", "4096 tokens: 5000 came, the author: Ada"],
    [
      "The service refuses the API key: ServiceError: POST https://a.example answered 401",
      "The service refuses the API key: ServiceError: POST https://a.example answered 401",
    ],
    [
      "Error: The service refuses the API key: hush",
      "Error: The service refuses the API key: [removed]",
    ],
    ["no secret here: a key, a sign, 12%", "no secret here: a key, a sign, 12%"],
    ["password: hush and more words", "password: [removed] and more words"],
    ["the password: it", "the password: [removed]"],
    ["password=put them", "password=[removed] them"],
    ["password: itshush it", "password: [removed] it"],
  ])("redactText() shows without its secrets: %s", (text, shown) => {
    expect(redactText(text)).toBe(shown);
  });
});

/** The texts in the sources of a package that go on after something that is called like a secret. */
function advices(name: string): string[] {
  const folder = fileURLToPath(new URL(`../../../${name}/src`, import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const sources = files.filter(
    (file) => /\.ts$/.test(file) && !/\.(test|generated)\.ts$/.test(file),
  );
  const texts = sources.flatMap((file) =>
    Array.from(
      readFileSync(join(folder, file), "utf8").matchAll(/(["`])((?:(?!\1)[^\\\n]|\\.)*)\1/g),
      ([, , text = ""]) => text,
    ),
  );
  return texts.filter((text) => /(?:key|secret|token|password|signature)s?: [a-z]+ /i.test(text));
}

describe("advice", () => {
  it("redactText() leaves every advice in the sources of a package as it is", () => {
    const told = ["core", "sqlite", "bullmq", "dashboard", "cli"].flatMap(advices);
    expect(told).toEqual(
      expect.arrayContaining([
        expect.stringContaining("the proxy asks for a user and a password: put them into its URL"),
        expect.stringContaining("because the service refused the API key: check apiKey"),
      ]),
    );
    expect(told.map(redactText)).toEqual(told);
  });

  it("redactText() leaves what is said of a refused key, with what the service answered", () => {
    const said = `${keyRefused}: ServiceError: POST … answered 401: the API key is not accepted, check apiKey`;
    expect(redactText(said)).toBe(said);
  });
});
