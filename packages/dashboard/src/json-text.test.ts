import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readableJson, withoutSecrets } from "./json-text.ts";

describe("readableJson()", () => {
  it("indents, and keeps every spelling", () => {
    const text = '{"a":1.0,"big":12345678901234567890,"b":[],"c":{},"d":[1,{"e":"\\u00e9"}]}';
    expect(readableJson(text)).toBe(
      `{\n  "a": 1.0,\n  "big": 12345678901234567890,\n  "b": [],\n  "c": {},\n  "d": [\n    1,\n    {\n      "e": "\\u00e9"\n    }\n  ]\n}`,
    );
  });

  it("says the same as what came", () => {
    const safe = fc.jsonValue().filter((value) => typeof value === "object" && value !== null);
    fc.assert(
      fc.property(safe, (value) => {
        const text = JSON.stringify(value);
        const shown = readableJson(text) ?? "";
        if (!shown.includes("[removed]")) expect(JSON.parse(shown)).toEqual(JSON.parse(text));
      }),
    );
  });

  it("removes what is named like a secret, whatever its value and however its name is written", () => {
    const text =
      '{"api_key":"hush","x-svc-authorization":["hush",{"a":"hush"}],"to\\u006ben":{"b":"hush"},"Password":7,"accessToken":"hush","clientSecret":"hush","my_api_key":"hush","kept":1,"tokens":2}';
    const shown = JSON.parse(readableJson(text) ?? "") as object;
    expect(shown).toEqual({
      api_key: "[removed]",
      "x-svc-authorization": "[removed]",
      token: "[removed]",
      Password: "[removed]",
      ...{ accessToken: "[removed]", clientSecret: "[removed]", my_api_key: "[removed]" },
      ...{ kept: 1, tokens: 2 },
    });
  });

  it.each(["", "no", "1", '"text"', "{", '{"a":}'])("is null for %j", (text) => {
    expect(readableJson(text)).toBeNull();
  });
});

describe("withoutSecrets()", () => {
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
    ["no secret here: a key, a sign, 12%", "no secret here: a key, a sign, 12%"],
  ])("%s", (text, shown) => {
    expect(withoutSecrets(text)).toBe(shown);
  });
});
