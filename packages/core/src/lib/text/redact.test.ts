import { inspect } from "node:util";
import { growth } from "@reporthook/test-support/growth";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createKeyRedactor,
  createRedactor,
  createTextRedactor,
  redactAddresses,
  redactorOf,
  redactSecrets,
} from "./redact.ts";

const lower = (text: string) => text.replace(/%../g, (encoded) => encoded.toLowerCase());
const form = (text: string) => new URLSearchParams({ k: text }).toString().slice(2);
const json = (text: string) => JSON.stringify(text).slice(1, -1);
const named: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#x27;",
};
const forms: Record<string, (key: string) => string> = {
  raw: (key) => key,
  "percent-encoded": encodeURIComponent,
  "percent-encoded in lower case": (key) => lower(encodeURIComponent(key)),
  "in a form": form,
  "in a form in lower case": (key) => lower(form(key)),
  "a query of a URL": (key) => new URL(`http://a/?k=${encodeURIComponent(key)}`).search.slice(3),
  "percent-encoded in part": (key) => key.replaceAll(/[\b"+=é🔑]/gu, encodeURIComponent),
  "percent-encoded in the other part, twice": (key) =>
    key.replaceAll(/[%/&漢]/gu, (char) => encodeURIComponent(encodeURIComponent(char))),
  "percent-encoded twice": (key) => encodeURIComponent(encodeURIComponent(key)),
  "in lower case, and once more": (key) => encodeURIComponent(lower(encodeURIComponent(key))),
  "in JSON": json,
  "in JSON in JSON": (key) => json(json(key)),
  "in JSON with escaped slashes": (key) => json(key).replaceAll("/", "\\/"),
  "in JSON with escaped slashes, and percent-encoded": (key) =>
    encodeURIComponent(json(key).replaceAll("/", "\\/")),
  "percent-encoded and in JSON": (key) => json(encodeURIComponent(key)),
  "in HTML": (key) => key.replace(/[&<>"']/g, (char) => named[char] ?? char),
  "in HTML by numbers": (key) => key.replace(/[^\w]/g, (char) => `&#${char.charCodeAt(0)};`),
  "in HTML by hexadecimal numbers": (key) =>
    key.replace(/[&<>"'`=/]/g, (char) => `&#x${char.charCodeAt(0).toString(16).toUpperCase()};`),
  "in JSON for HTML": (key) =>
    json(key).replace(
      /[&<>'+=/]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
    ),
  "in JSON by numbers": (key) =>
    key.replace(/[^\w]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`),
  inspected: (key) => inspect(key).slice(1, -1),
  "form-decoded": (key) => key.replaceAll("+", " "),
};

const keys = fc
  .string({ unit: "grapheme", minLength: 1 })
  .map((text) => `canary${text.replace(/\s/g, "")}canary`);
const hard = `canary\b\\\\"'/+&=%41%25[](.*)?$^|é漢🔑\u017f\u212acanary`;

function hidesInJson(key: string, times: number): void {
  let shown = key;
  for (let time = 0; time < times; time++) shown = json(shown);
  expect(createRedactor(key).text(`<${shown}>`)).toBe("<[api key]>");
}

describe("the key", () => {
  it.each(Object.entries(forms))("createRedactor().text() hides a key that is %s", (_, encode) => {
    const hides = (key: string) => {
      const shown = createRedactor(key).text(`<${encode(key)}>`);
      expect(shown).toBe("<[api key]>");
    };
    hides(hard);
    fc.assert(fc.property(keys, hides));
  });

  it("createRedactor().text() hides a key with many backslashes that is in JSON in JSON", () => {
    hidesInJson("canary\\\\\\\\canary", 2);
    hidesInJson("canary\\&\\\\canary", 3);
  });

  it("createRedactor().text() hides a key when what follows its backslash is written by its number", () => {
    const { text } = createRedactor("canary\\&canary");
    for (const shown of ["\\\\\\u0026", "\\u005c\\u0026", "%5C%5C%5Cu0026", "\\\\&amp;"]) {
      expect(text(`canary${shown}canary`)).toBe("[api key]");
    }
  });

  it("createRedactor().text() leaves everything else as it is when the key is not in it", () => {
    expect(createRedactor("a.c").text("abc a%2Dc A.C au2ec")).toBe("abc a%2Dc A.C au2ec");
  });

  it("createRedactor().text() leaves no part of the key when the cut goes through it", () => {
    const { text } = createRedactor("canary-key");
    for (let limit = 0; limit < 30; limit++) {
      const shown = text("0123456789canary-key0123456789", limit);
      expect(shown.length).toBeLessThanOrEqual(limit);
      expect(shown).not.toContain("c");
    }
    expect(text("01canary-key2345", 14)).toBe("01[api key]234");
  });

  it("createRedactor().text() takes the key out first, which another secret may be a part of", () => {
    const { text } = createRedactor("canary-key", { signature: "api_key=c" });
    expect(text("/authorize?api_key=canary-key failed")).toBe(
      "/authorize?api_key=[api key] failed",
    );
  });

  it("createRedactor().text() takes other secrets out, by their name, unless they are too short", () => {
    const { text } = createRedactor("canary-key", { signature: 'a b+"c/d', short: "1234567" });
    for (const given of ['a b+"c/d', 'a b+\\"c/d', "a%20b%2B%22c%2Fd", "a+b%2B%22c%2Fd"]) {
      expect(text(`<${given}|canary-key|1234567>`)).toBe("<[signature]|[api key]|1234567>");
    }
  });

  it("createRedactor().text() needs four times as long for four times as much, for texts of any characters", () => {
    const times = growth((length) => {
      for (const key of [
        "\\\\\\\\a\\\\\\\\b",
        '"""""""""x',
        "%%%%%%%%%x",
        "%25%25%25%25x",
        "///+++x",
      ]) {
        for (const unit of ["\\", '"', "%", "%25", "\\u", '\\\\"', "/", "+"]) {
          createRedactor(key).text(unit.repeat(length));
        }
      }
    });
    expect(times(5_000)).toBeLessThan(10);
  });

  it("createRedactor().value() takes the key out of strings, names and numbers when it is in them", () => {
    const { value } = createRedactor("12345678");
    const given = { a: [12345678, 1, true, null], "x-12345678": "12345678", ["__proto__"]: 1 };
    const shown = value(given);
    expect(JSON.stringify(shown)).toBe(
      '{"a":["[api key]",1,true,null],"x-[api key]":"[api key]","__proto__":1}',
    );
    expect(given.a[0]).toBe(12345678);
  });
});

describe("other secrets", () => {
  it("redactSecrets() takes a secret out in any form, also when it is no well-formed text, and never as a pattern", () => {
    expect(redactSecrets("see $&-secret.*, $&-secret.*", { token: "$&-secret.*" })).toBe(
      "see [token], [token]",
    );
    expect(redactSecrets("\ud800-secret", { token: "\ud800-secret" })).toBe("[token]");
    expect(redactSecrets("12345678 1234567", { eight: "12345678", seven: "1234567" })).toBe(
      "[eight] 1234567",
    );
    expect(redactSecrets("a%C3%BC-secret", { token: "aü-secret" })).toBe("[token]");
  });

  it.each([
    "raw",
    "percent-encoded",
    "percent-encoded in lower case",
    "percent-encoded twice",
    "in lower case, and once more",
    "in a form",
    "in a form in lower case",
    "in JSON",
    "in JSON with escaped slashes",
    "inspected",
    "form-decoded",
  ])("redactSecrets() takes a secret out that is %s", (how) => {
    const secret = "ü+'\"`/\\secret";
    const shown = forms[how]?.(secret);
    expect(redactSecrets(`<${shown}>`, { token: secret })).toBe("<[token]>");
  });
});

describe("texts", () => {
  it.each([undefined, "", "0", "key", "test", "1234567"])(
    "createTextRedactor() leaves the key %j in a text, which would be full of holes",
    (key) => {
      const text = `{"type":"test_webhook_endpoint","key":"${key}"}`;
      expect(createTextRedactor(key)(text)).toBe(text);
    },
  );

  it("createTextRedactor() takes out a key of 8 characters", () => {
    const text = "?k=1234567% 1234567%25";
    expect(createTextRedactor("1234567%")(text)).toBe("?k=[api key] [api key]");
  });

  it.each([
    [
      "https://a.example/?callback_token=ab.c-d&b=1",
      "https://a.example/?callback_token=[removed]&b=1",
    ],
    ["to=%3Fcallback_token%3Dabc%26b", "to=%3Fcallback_token%3D[removed]%26b"],
    ["postgres://ada:hush@db.example/x", "postgres://ada:[removed]@db.example/x"],
    ["redis://:hu@sh@db.example", "redis://:[removed]@db.example"],
    ["http://a.example:80/x@y and b:c@d", "http://a.example:80/x@y and b:c@d"],
  ])("createTextRedactor() takes tokens and passwords out of URLs: %s", (text, shown) => {
    expect(createTextRedactor()(text)).toBe(shown);
  });
});

describe("addresses", () => {
  it.each([
    [
      "POST https://chat.example:8443/hooks/T0/secret?a=b failed, again  https://b.example",
      "POST https://chat.example:8443/… failed, again  https://b.example/…",
    ],
    ["(HTTP://[::1]:80/hook)", "HTTP://[::1]:80/…"],
    ["https://a.example/ada@b.example", "https://a.example/…"],
    ["https://ada:hush@a.example/hook", "…"],
    ["open '/run/secret/hook': EACCES", "open … EACCES"],
    [
      "/a/inbox.db is gone: see docs/operating.md for it",
      "… is gone: see docs/operating.md for it",
    ],
    ["mailto:ada@b.example: no answer", "mailto:ada@b.example: no answer"],
  ])("redactAddresses() leaves no more of an address than its origin: %s", (text, shown) => {
    expect(redactAddresses(text)).toBe(shown);
  });
});

describe("keys of a client", () => {
  it("redactorOf() takes the last two keys that were sent out of a text, in any form", () => {
    const { used, carried } = createKeyRedactor();
    const redact = redactorOf({ ...carried });
    const [one, two, three] = ["key/canary-1", "key/canary-2", "key/canary-3"];
    expect(redact(one)).toBe(one);
    used(one);
    expect(redact(`now ${one} or ${encodeURIComponent(one)}`)).toBe("now [api key] or [api key]");
    for (const key of [two, two]) used(key);
    expect(redact(`${one} ${two}`)).toBe("[api key] [api key]");
    used(three);
    expect(redact(`${one} ${two} ${three}`)).toBe(`${one} [api key] [api key]`);
  });

  it("redactorOf() leaves a text as it is when the key is shorter than 8 characters, or the client unknown", () => {
    const { used, carried } = createKeyRedactor();
    used("failed!");
    expect(redactorOf(carried)("It failed!")).toBe("It failed!");
    used("failed!!");
    expect(redactorOf(carried)("It failed!!")).toBe("It [api key]");
    expect(redactorOf({})("key/canary")).toBe("key/canary");
  });

  it("redactorOf() takes tokens of callback URLs out of a text, also for a client that createClient() did not make", () => {
    const { carried } = createKeyRedactor();
    for (const redact of [redactorOf(carried), redactorOf({})]) {
      expect(
        redact(
          "not reachable: https://a.example/?callback_token=2.canary.x-_, or callback%5Ftoken%3D2.canary",
        ),
      ).toBe(
        "not reachable: https://a.example/?callback_token=[removed], or callback%5Ftoken%3D[removed]",
      );
    }
  });

  it("redactorOf() looks at no more of a text than is ever shown, and cuts no key in two", () => {
    const { used, carried } = createKeyRedactor();
    const key = "k".repeat(2_048);
    expect(redactorOf(carried)("x".repeat(10_000_000)).length).toBeLessThan(200_000);
    used(key);
    const shown = redactorOf(carried)(key.repeat(100));
    expect(shown).not.toContain("kk");
    expect(redactorOf(carried)(`${"x".repeat(65_000)}${key}`)).toMatch(/^x{65000}(\[api key\])?$/);
    expect(redactorOf(carried)("x".repeat(10_000_000)).length).toBe(65_536);
  });
});
