import { describe, expect, it } from "vitest";
import { isLocal, isSameOrigin } from "./guard.ts";

const from = (url: string, headers: Record<string, string> = {}, method = "GET"): Request =>
  new Request(url, { method, headers });

describe("peers", () => {
  const here = { peer: "127.0.0.1" };

  it.each(["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])(
    "isLocal() is true for the peer %s",
    (peer) => {
      expect(isLocal(from("http://localhost:3000/"), { peer })).toBe(true);
      const incoming = { socket: { remoteAddress: peer } };
      expect(isLocal(from("http://localhost:3000/"), { incoming })).toBe(true);
    },
  );

  it.each(["10.0.0.1", "::ffff:10.0.0.1", "1127.0.0.1", "127.0.0.1.evil", "fe80::1", ""])(
    "isLocal() is false for the peer %j",
    (peer) => {
      expect(isLocal(from("http://localhost/"), { peer })).toBe(false);
    },
  );

  it.each([undefined, null, {}, { peer: 1 }, { incoming: null }, "127.0.0.1"])(
    "isLocal() is false when %j is all that is known of the peer",
    (context) => {
      expect(isLocal(from("http://localhost/"), context)).toBe(false);
    },
  );

  it.each(["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "[::1].evil", "0.0.0.0"])(
    "isLocal() is false for the host %s",
    (host) => {
      expect(isLocal(from("http://localhost/", { host }), here)).toBe(false);
    },
  );

  it.each([
    ...["forwarded", "via", "x-forwarded-for", "x-real-ip", "x-original-host", "x-client-ip"],
    ...["cf-connecting-ip", "true-client-ip", "x-envoy-external-address", "x-amzn-trace-id"],
    ...["x-amz-cf-id", "fly-client-ip", "fastly-client-ip", "cdn-loop", "x-azure-clientip"],
  ])("isLocal() is false for a request that a proxy has passed on with the header %s", (name) => {
    expect(isLocal(from("http://localhost/", { [name]: "x" }), here)).toBe(false);
  });

  it("isLocal() is false for a request of HTTP/1.0, as nginx passes it on, and true for others", () => {
    const of = (httpVersion: string) => ({
      incoming: { httpVersion, socket: { remoteAddress: "127.0.0.1" } },
    });
    const versions = ["1.0", "1.1", "2.0"].map((each) => isLocal(from("http://[::1]/"), of(each)));
    expect(versions).toEqual([false, true, true]);
  });
});

describe("origins", () => {
  it("isSameOrigin() goes by Sec-Fetch-Site, then by Origin, and refuses only a POST without either", () => {
    const url = "http://app.example:8080/inbox/api/overview";
    const site = (value: string) => ({ "sec-fetch-site": value });
    expect(isSameOrigin(from(url, site("same-origin"), "POST"))).toBe(true);
    expect(
      isSameOrigin(from(url, { ...site("cross-site"), origin: "http://app.example:8080" })),
    ).toBe(false);
    expect(isSameOrigin(from(url, { origin: "http://app.example:8080" }, "POST"))).toBe(true);
    for (const origin of [
      "http://app.example",
      "http://app.example:80",
      "null",
      "app.example:8080",
    ]) {
      expect(isSameOrigin(from(url, { origin }, "POST")), origin).toBe(false);
    }
    const standard = { host: "app.example", origin: "https://app.example:443" };
    expect(isSameOrigin(from(url, standard, "POST"))).toBe(true);
    expect(isSameOrigin(from(url))).toBe(true);
    expect(isSameOrigin(from(url, {}, "HEAD"))).toBe(true);
    expect(isSameOrigin(from(url, {}, "POST"))).toBe(false);
  });
});
