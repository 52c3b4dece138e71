import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createClient, createReceiver, memoryInbox } from "@reporthook/core";
import { dashboard, ofInbox } from "@reporthook/dashboard";
import { sqliteInbox } from "@reporthook/sqlite";
import { ask } from "@reporthook/test-support/asking";
import { describe, expect, test } from "vitest";
import { raw } from "../adapters/hosts/mount.ts";
import { appOnStage, playedAppOnStage } from "./stage/app-on-stage.ts";
import { frameworks, type StageOptions } from "./stage/stage.ts";

const act = { "x-reporthook": "1", "sec-fetch-site": "same-origin" };
const ada = { name: "Ada", may: "act" } as const;

const post = (url: string, headers: Record<string, string> = act) => ask(url, headers, "POST");

describe.each(Object.entries(frameworks))("on %s", (_, framework) => {
  test("the dashboard is one page with its files, below its path", async () => {
    const { url } = await appOnStage({ framework });
    const moved = await ask(`${url.slice(0, -1)}?delivery=1`);
    expect([moved.status, moved.headers["location"]]).toEqual([308, "./inbox/?delivery=1"]);
    const page = await ask(url);
    expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    const files = [...page.text.matchAll(/(?:src|href)="(\.\/assets\/[^"]+)"/g)];
    expect(files.length).toBeGreaterThanOrEqual(3);
    let bytes = gzipSync(page.text).length;
    for (const [, path = ""] of files) {
      const file = await ask(new URL(path, url).href);
      expect(file.status, path).toBe(200);
      expect(file.headers["content-type"], path).toMatch(/^(text|image)\/[\w+]+; charset=utf-8$/);
      bytes += gzipSync(file.text).length;
    }
    expect(bytes).toBeLessThan(60_000);
    expect((await ask(`${url}assets/none.js`)).status).toBe(404);
    expect((await ask(`${url}favicon.ico`)).status).toBe(404);
    expect((await post(url)).status).toBe(405);
    for (const path of ["unknown", "api/deliveries/1/unknown"]) {
      expect((await post(url + path)).status, path).toBe(404);
    }
    expect((await ask(url, {}, "HEAD")).text).toBe("");
  });

  test("the dashboard answers this machine alone, unless it can tell who asks", async () => {
    const { url } = await appOnStage({ framework });
    const { port } = new URL(url);
    for (const path of ["", "api/overview", "metrics", "assets/x.js"]) {
      for (const host of ["evil.example", `evil.example:${port}`, "127.0.0.1.evil.example"]) {
        expect((await ask(url + path, { host })).status, `${path} of ${host}`).toBe(403);
      }
      const proxied = await ask(url + path, { "x-forwarded-for": "203.0.113.9" });
      expect(proxied.status).toBe(403);
    }
    for (const host of ["localhost", `localhost:${port}`, `[::1]:${port}`]) {
      expect((await ask(url, { host })).status, host).toBe(200);
    }
    // As nginx passes a request on by default: it names this machine as the host, and no header tells of it.
    const { pathname, host } = new URL(`${url}api/overview`);
    const head = `Host: ${host}\r\nConnection: close\r\n\r\n`;
    expect(await raw(url, `GET ${pathname} HTTP/1.0\r\n${head}`)).toContain(" 403 ");
    expect(await raw(url, `GET ${pathname} HTTP/1.1\r\n${head}`)).toContain(" 200 ");
  });

  test("the dashboard asks authorize about every request", async () => {
    const asked: string[] = [];
    const authorize: StageOptions["authorize"] = async ({ url, headers }) => {
      asked.push(new URL(url).pathname);
      return headers.get("cookie") === "session=ada" ? ada : null;
    };
    const { url } = await appOnStage({ framework, authorize });
    const data = ["metrics", "api/overview", "api/deliveries", "api/deliveries/1"];
    const paths = ["", ...data, "assets/x", "x/y"];
    for (const path of paths) expect((await ask(url + path)).status, path).toBe(403);
    expect((await post(`${url}api/deliveries/1/release`)).status).toBe(403);
    expect((await post(`${url}api/release?reason=poison`)).status).toBe(403);
    expect(asked).toEqual([
      ...paths.map((path) => `/inbox/${path}`),
      "/inbox/api/deliveries/1/release",
      "/inbox/api/release",
    ]);
    const cookie = "session=ada";
    const known = await ask(`${url}api/overview`, { cookie, host: "app.example" });
    expect(JSON.parse(known.text).viewer).toEqual(ada);
  });

  test("the dashboard tells of each change while the connection is open, and ends it with the receiver", async () => {
    const { url, send, receiver } = await appOnStage({ framework });
    const leaving = new AbortController();
    const headers = { accept: "text/event-stream" };
    const live = await fetch(`${url}api/deliveries`, { headers, signal: leaving.signal });
    expect(live.headers.get("content-type")).toBe("text/event-stream");
    const reader = live.body?.pipeThrough(new TextDecoderStream()).getReader();
    const readUntil = async (text: string): Promise<void> => {
      let read = "";
      while (!read.includes(text)) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) throw new Error(`It ended before it said ${text}`);
        read += value;
      }
    };
    await readUntil('"entries":[]');
    await send("report.complete", { reportId: "live-1" });
    await readUntil('"reportId":"live-1"');
    await receiver.close();
    await expect(readUntil("never")).rejects.toThrow("It ended");
  });
});

describe("on node:http", () => {
  test.each(["state", "event", "reason"])(
    "the dashboard leaves out a %s that it does not know, and fails at none",
    async (name) => {
      const stage = await playedAppOnStage();
      const { status, text } = await ask(`${stage.url}api/deliveries?${name}=other`);
      expect(status).toBe(200);
      expect(JSON.parse(text).entries).not.toEqual([]);
    },
  );

  test("the dashboard lets no other site act or read, even with the cookies of a login", async () => {
    const stage = await playedAppOnStage({ authorize: () => ada });
    const { url, receiver } = stage;
    const [dead] = await receiver.inbox.list({ state: "dead" });
    const release = `${url}api/deliveries/${dead?.id}/release`;
    const header = { "x-reporthook": "1" };
    const { host, origin } = new URL(url);
    const refused: Record<string, string>[] = [
      header,
      { "sec-fetch-site": "same-origin" },
      { origin },
      { ...header, "sec-fetch-site": "cross-site" },
      { ...header, "sec-fetch-site": "same-site" },
      { ...header, "sec-fetch-site": "none" },
      { ...header, "sec-fetch-site": "cross-site", origin },
      { ...header, origin: "https://evil.example" },
      { ...header, origin: "null" },
      { ...header, origin: `http://${host}.evil.example` },
    ];
    for (const headers of refused) {
      expect((await post(release, headers)).status, JSON.stringify(headers)).toBe(403);
    }
    for (const site of ["cross-site", "same-site", "none"]) {
      for (const path of ["api/overview", "metrics"]) {
        const read = await ask(url + path, { "sec-fetch-site": site });
        expect([read.status, JSON.parse(read.text).code], site).toEqual([403, "cross_site"]);
      }
    }
    const foreign = await ask(`${url}api/overview`, { origin: "https://evil.example" });
    expect(foreign.status).toBe(403);
    expect((await receiver.inbox.counts()).dead).toBe(3);
    expect((await ask(release)).status).toBe(405);
    expect((await post(release, { ...header, origin })).status).toBe(200);
  });

  test("the dashboard lets a person who may only view do nothing", async () => {
    const stage = await playedAppOnStage({ authorize: () => ({ name: "Bob", may: "view" }) });
    const [dead] = await stage.receiver.inbox.list({ state: "dead" });
    const one = `${stage.url}api/deliveries/${dead?.id}`;
    const all = ["release", "discard"].map(
      (action) => `${stage.url}api/${action}?reason=do_not_retry`,
    );
    for (const address of [`${one}/release`, `${one}/retry`, `${one}/discard`, ...all]) {
      const answer = await post(address);
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([403, "view_only"]);
    }
    expect((await stage.receiver.inbox.counts()).dead).toBe(3);
    expect(stage.logged).toEqual([]);
  });

  test("the dashboard retries a rejected delivery as it was shown, with its reason", async () => {
    const stage = await playedAppOnStage();
    const [rejected] = await stage.receiver.inbox.list({ reason: "invalid_signature" });
    const unchangedSince = rejected?.changedAt?.toISOString() ?? "";
    const shown = { state: "rejected", reason: "invalid_signature", unchangedSince };
    const path = `api/deliveries/${rejected?.id}/retry?${new URLSearchParams(shown)}`;
    const { status, text } = await post(stage.url + path);
    expect([status, text]).toEqual([200, '{"done":1}']);
  });

  test("the dashboard says why it did not do what was asked", async () => {
    const stage = await playedAppOnStage();
    const [rejected] = await stage.receiver.inbox.list({ state: "rejected" });
    const of = (path: string) => post(`${stage.url}api/deliveries/${path}`);
    expect((await of("none/release")).status).toBe(404);
    const answer = await of(`${rejected?.id}/release`);
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([409, "not_releasable"]);
    expect((await of(`${rejected?.id}/retry`)).status).toBe(409);
    expect((await of("none/discard")).status).toBe(404);
    const kept = await of(`${rejected?.id}/discard`);
    expect([kept.status, JSON.parse(kept.text).code]).toEqual([409, "not_parked"]);
    for (const act of ["release", "discard"]) {
      const none = await post(`${stage.url}api/${act}?reason=poison`);
      expect(none.text).toBe('{"done":0}');
      const unclear = await post(`${stage.url}api/${act}?reason=nonsense&error=a`);
      expect([unclear.status, JSON.parse(unclear.text).code]).toEqual([400, "unclear"]);
    }
  });

  test("the dashboard sends a strict policy with everything, and has nothing kept that is not a file", async () => {
    const { url } = await appOnStage({
      authorize: ({ url }) => (url.endsWith("?no") ? null : ada),
    });
    for (const path of ["", "?no", "api/overview", "api/deliveries/none", "none.txt"]) {
      const { headers } = await ask(url + path);
      const policy = String(headers["content-security-policy"]);
      expect(policy, path).toContain("default-src 'none'");
      expect(policy, path).toContain("script-src 'self';");
      expect(policy, path).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe");
      expect(headers["x-frame-options"]).toBe("DENY");
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["referrer-policy"]).toBe("no-referrer");
      expect(headers["access-control-allow-origin"]).toBeUndefined();
      expect(headers["cache-control"]).toMatch(/^no-/);
    }
    const { text } = await ask(url);
    expect(text).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
    expect(text).not.toMatch(/https?:\/\//);
  });

  test("the dashboard shows neither the API key nor a signature nor what a body calls secret", async () => {
    const { url, send, receiver, emulator } = await appOnStage({
      fails: new Error("GET https://files.example/?api_key=hush-1&x=1 with Bearer hush-token"),
      receiver: { retry: { attempts: 1 } },
    });
    const body = {
      status: "complete",
      report_id: "r-1",
      api_key: "hush-2",
      nested: [{ "x-svc-authorization": { deep: "hush-3" } }],
      url: "https://files.example/a?token=hush-4&part=2",
    };
    const id = await send("report.complete", { body });
    await receiver.idle({ timeoutMs: 60_000 });
    const one = await ask(`${url}api/deliveries/${id}`);
    expect(one.text).toContain("part=2");
    const { text } = await ask(`${url}api/overview`);
    const list = await ask(`${url}api/deliveries`);
    for (const shown of [one.text, text, list.text]) {
      expect(shown).toContain("[removed]");
      expect(shown).not.toContain("hush");
      expect(shown).not.toContain(emulator.clientOptions.apiKey);
    }
  });

  test("the dashboard shows an inbox without its receiver", async () => {
    const inbox = memoryInbox();
    const receiver = createReceiver({
      client: createClient({ baseUrl: "http://x", apiKey: "k" }),
      inbox,
      autostart: false,
      logger: false,
    });
    const body = JSON.stringify({ event_type: "test_webhook_endpoint", payload: "p" });
    const headers = { "content-type": "application/json" };
    await receiver.fetch(new Request("http://x/hook", { method: "POST", body, headers }));
    const page = dashboard(ofInbox(inbox), { logger: false });
    const overview = await page(new Request("http://localhost/api/overview"), { peer: "::1" });
    expect(await overview.json()).toMatchObject({ ready: true, counts: { verified: 1 } });
    const other = dashboard(ofInbox(inbox, { receiver: "other" }), { logger: false });
    const empty = await other(new Request("http://localhost/api/overview"), { peer: "127.0.0.1" });
    expect(await empty.json()).toMatchObject({ counts: { verified: 0 } });
    for (const peer of [undefined, { peer: undefined }, { peer: "10.0.0.1" }]) {
      const answer = await page(new Request("http://localhost/"), peer);
      expect(answer.status).toBe(403);
    }
    await receiver.close();
  });

  test("the dashboard says what is wrong with an inbox that fails", async () => {
    const inbox = sqliteInbox(join(tmpdir(), "no-such-folder", "inbox.db"), { migrate: false });
    const page = dashboard(ofInbox(inbox), { logger: false });
    const ask = () => page(new Request("http://localhost/api/overview"), { peer: "::1" });
    // health() answers within 500 ms, also if the inbox has not yet said that it fails: then its question fails, with 503.
    await expect.poll(async () => (await ask()).status).toBe(200);
    const error = expect.stringContaining("no-such-folder");
    expect(await (await ask()).json()).toMatchObject({ ready: false, inbox: { ok: false, error } });
    await inbox.close();
  });

  test("the dashboard keeps no place of a live view for HEAD, nor for a client that is gone", async () => {
    const page = dashboard(ofInbox(memoryInbox()), { logger: false });
    const asked = (method: string) =>
      new Request("http://localhost/api/overview", {
        method,
        headers: { accept: "text/event-stream" },
      });
    for (let times = 0; times < 150; times++) {
      expect((await page(asked("HEAD"), { peer: "::1" })).status).toBe(200);
    }
    for (let times = 0; times < 150; times++) {
      const gone = new Request(asked("GET"), { signal: AbortSignal.abort() });
      expect((await page(gone, { peer: "::1" })).status).toBe(200);
    }
    const live = await page(asked("GET"), { peer: "::1" });
    expect(live.headers.get("content-type")).toBe("text/event-stream");
    await live.body?.cancel();
  });

  test("dashboard() throws a TypeError that names a wrong option", () => {
    const source = ofInbox(memoryInbox());
    expect(() => dashboard(source, { authorise: () => null } as never)).toThrow("authorise");
    expect(() => dashboard(source, { authorize: true } as never)).toThrow("authorize");
  });

  test("dashboard() throws a TypeError that says what it wants when it is given nothing to show", () => {
    const given = dashboard as (source?: unknown) => unknown;
    const wanted =
      "The argument is neither a receiver nor ofInbox(…). Write: dashboard(receiver), or dashboard(ofInbox(inbox)) for an inbox without receiver";
    expect(() => given()).toThrow(new TypeError(wanted));
    const inbox = memoryInbox();
    const almost = { health() {}, inbox: {} };
    for (const source of [null, "receiver", {}, { inbox }, inbox, almost]) {
      expect(() => given(source)).toThrow(new TypeError(wanted));
    }
    for (const inbox of [undefined, null, {}, "inbox.db"]) {
      expect(() => ofInbox(inbox as never)).toThrow(
        /^ofInbox: the first argument must be an inbox/,
      );
    }
  });
});
