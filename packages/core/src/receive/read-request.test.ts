import { describe, expect, it } from "vitest";
import { incomingFromRequest } from "../http/fetch.ts";
import { type ReceiverSettings, receiverSettingsOf } from "../options/receiver-settings.ts";
import {
  beginBody,
  bodyRefusals,
  CommonParts,
  namedSignature,
  type ReceivedNotification,
  readNotification,
} from "./read-request.ts";

const options: ReceiverSettings = receiverSettingsOf({
  client: { authorize: async () => "valid" },
  limits: { bodyBytes: 10_000, bodyMs: 1_000 },
});
const url = "/hook";
const common = new CommonParts();

/** Reads a request whose body is there already. */
async function read(
  request: { readonly headers?: Record<string, string>; readonly body?: string },
  given: Partial<ReceiverSettings> & { readonly url?: string } = {},
): Promise<ReceivedNotification | string> {
  const { headers = {}, body = "{}" } = request;
  const at = given.url ?? url;
  const init = { method: "POST", headers, body: new TextEncoder().encode(body) };
  const incoming = incomingFromRequest(new Request(`https://app.example${at}`, init));
  const settings = { ...options, ...given };
  const named = namedSignature(incoming.headers, settings.signature);
  const bytes = await beginBody(incoming, named, settings.limits).result;
  if (typeof bytes === "string") return bodyRefusals[bytes];
  return readNotification(incoming, at, bytes, named, settings, common);
}

async function accepted(...of: Parameters<typeof read>): Promise<ReceivedNotification> {
  const notification = await read(...of);
  if (typeof notification === "string") throw new Error(`Refused: ${notification}`);
  return notification;
}

const signed = { "x-svc-authorization": "s-1" };

describe("bounds", () => {
  it("readNotification() cuts the url at 2,048 characters, and takes a signature of over 4,096 for none", async () => {
    const long = await accepted({ headers: signed }, { url: `/hook?${"a".repeat(5_000)}` });
    expect(long.url).toBe(`/hook?${"a".repeat(5_000)}`.slice(0, 2_048));
    const of = (length: number) => ({ "x-svc-authorization": "s".repeat(length) });
    expect((await accepted({ headers: of(4_096) })).signature).toHaveLength(4_096);
    const json = { "content-type": "application/json" };
    expect((await accepted({ headers: { ...of(4_097), ...json } })).signature).toBeNull();
  });
});

describe("headers", () => {
  it("readNotification() keeps content-type, user-agent and traceparent, cut at 1,024 characters", async () => {
    const headers = {
      ...signed,
      "content-type": "application/json",
      "user-agent": "u".repeat(2_000),
      traceparent: "00-1",
      cookie: "secret",
    };
    expect((await accepted({ headers })).headers).toEqual({
      "content-type": "application/json",
      "user-agent": "u".repeat(1_024),
      traceparent: "00-1",
    });
  });

  it("readNotification() keeps no header that is missing, and none of another request", async () => {
    const one = { ...signed, "content-type": "application/json" };
    for (const more of [
      {},
      { "user-agent": "a" },
      { "user-agent": "b" },
      { traceparent: "c" },
      {},
    ]) {
      const { headers } = await accepted({ headers: { ...one, ...more } });
      expect(headers).toEqual({ "content-type": "application/json", ...more });
    }
  });

  it("readNotification() keeps headers that come twice as one frozen object, and the url as one string", async () => {
    const [one, two] = [await accepted({ headers: signed }), await accepted({ headers: signed })];
    expect(two.headers).toBe(one.headers);
    expect(Object.isFrozen(one.headers)).toBe(true);
    expect((await accepted({ headers: signed }, { url: "/other" })).url).toBe("/other");
    expect((await accepted({ headers: signed })).url).toBe(url);
  });
});

describe("signatures", () => {
  it.each([
    ["an empty one", " "],
    ["none", null],
    ["no text", 7 as never],
  ])("readNotification() finds no signature when the function gives %s", async (_, given) => {
    const { signature, claims } = await accepted({}, { signature: () => given });
    expect([signature, claims]).toEqual([null, { type: "unknown", reportId: null }]);
  });

  it("readNotification() finds the signature with a function that is given headers, url and body", async () => {
    let given: unknown;
    const source: ReceiverSettings["signature"] = (request) => {
      given = request;
      return request.headers["x-sign"];
    };
    const { signature } = await accepted(
      { headers: { "X-Sign": "s-2" }, body: '{"ü":1}' },
      { signature: source },
    );
    expect(signature).toBe("s-2");
    expect(given).toMatchObject({ url, body: '{"ü":1}', headers: { "x-sign": "s-2" } });
  });

  it("readNotification() shows no API key that the function of signature throws, wherever the text is cut", async () => {
    const key = "k".repeat(128);
    const redact = (text: string) => text.replaceAll(key, "[api key]");
    const signature: ReceiverSettings["signature"] = () => {
      throw new Error(`${"x".repeat(430)}${key}`);
    };
    await expect(accepted({}, { signature, redact })).rejects.toThrow(/x\[api key\]$/);
  });

  it("readNotification() shows no part of a request that the function of signature throws", async () => {
    const signature: ReceiverSettings["signature"] = ({ headers, url, body }) => {
      throw new Error(
        `No hash in '${headers["x-svc-authorization"]}', ${url} and ${body.slice(0, 20)}`,
      );
    };
    const headers = { "x-svc-authorization": "signature-4711" };
    const request = { headers, body: '{"name":"Lovelace-Byron"}' };
    const error = await accepted(request, { url: "/hook?sig=signature-4711", signature }).catch(
      String,
    );
    expect(error).toContain("No hash in '[of the request]', /hook?sig=[of the request] and ");
    expect(error).not.toMatch(/4711|Lovelace/);
  });

  it("readNotification() says whose fault it is when the function of signature fails", async () => {
    const signature: ReceiverSettings["signature"] = () => {
      throw new RangeError("none");
    };
    await expect(accepted({}, { signature })).rejects.toThrow(
      "The function of the option signature failed: RangeError: none",
    );
  });

  it.each([
    ["/hook?signature=s-3", "/hook?signature=[signature]"],
    ["/hook?a=1&signature=a%2Fb+c%3D&b=2", "/hook?a=1&signature=[signature]&b=2"],
    ["/hook?signature=%20a%2fb%20c%3d", "/hook?signature=[signature]"],
    ["/hook?a=1&signature=none&b=s-3", "/hook?a=1&signature=none&b=[signature]"],
  ])("readNotification() finds the signature in %s, and cuts it out", async (at, stored) => {
    const { url: found, signature } = await accepted(
      {},
      {
        url: at,
        signature: ({ url: of }) => {
          const query = new URL(of, "http://localhost").searchParams;
          return query.get("signature") === "none" ? query.get("b") : query.get("signature");
        },
      },
    );
    expect(["s-3", "a/b c="]).toContain(signature);
    expect(found).toBe(stored);
  });

  it("readNotification() leaves the address as it is when the signature is in the body", async () => {
    const signature = () => "s-4";
    expect((await accepted({}, { signature, url: "/hook?a=1" })).url).toBe("/hook?a=1");
  });
});

describe("no signature", () => {
  it.each([
    "application/json",
    "APPLICATION/JSON",
    "application/json; charset=utf-8",
    "application/vnd.svc.v1-2+json",
    "application/vnd.my_app!#$&^+json",
    " text/json ;x",
    "",
  ])("readNotification() takes without a signature JSON announced as %j", async (type) => {
    const notification = await accepted({ headers: { "content-type": type } });
    expect(notification.claims).toEqual({ type: "unknown", reportId: null });
  });

  it.each([
    "text/plain",
    "application/jsonp",
    "a1/json",
    "application/+json",
    "application/a b+json",
  ])("readNotification() takes without a signature nothing announced as %j", async (type) => {
    expect(await read({ headers: { "content-type": type } })).toBe("unsupported_media_type");
  });

  it("readNotification() takes without a signature no encoding but identity", async () => {
    for (const encoding of ["identity", " Identity ", ""]) {
      expect(await read({ headers: { "content-encoding": encoding } })).toBeTypeOf("object");
    }
    const gzip = { "content-encoding": "gzip" };
    expect(await read({ headers: gzip })).toBe("unsupported_media_type");
    expect(await read({ headers: { ...gzip, ...signed } })).toBeTypeOf("object");
  });

  it("readNotification() takes without a signature at most 4 KiB, or less where bodyBytes says so", async () => {
    const sized = (size: number) => ({ body: `{"a":"${"x".repeat(size - 8)}"}` });
    expect(await read(sized(4_096))).toBeTypeOf("object");
    expect(await read(sized(4_097))).toBe("body_too_large");
    const limits = { ...options.limits, bodyBytes: 100 };
    expect(await read(sized(101), { limits })).toBe("body_too_large");
    expect(await read({ ...sized(4_097), headers: signed })).toBeTypeOf("object");
    expect(await read({ ...sized(10_001), headers: signed })).toBe("body_too_large");
    // A function may find one in the body, so that has to be read first.
    expect(await read(sized(4_097), { signature: () => null })).toBe("body_too_large");
    expect(await read(sized(4_097), { signature: () => "s-5" })).toBeTypeOf("object");
  });

  it("readNotification() takes without a signature a JSON object, and what parse says of it, or unknown where parse fails", async () => {
    expect(await read({ body: "[]" })).toBe("invalid_json");
    const test = { body: '{"event_type":"test_webhook_endpoint","payload":"p"}' };
    expect((await accepted(test)).claims).toMatchObject({ type: "test_webhook_endpoint" });
    const parse = () => {
      throw new Error("not today");
    };
    expect((await accepted({ body: '{"a":1}' }, { parse })).claims).toEqual({
      type: "unknown",
      reportId: null,
    });
  });
});
