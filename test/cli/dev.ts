import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { createClient, createReceiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { createEmulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { ask } from "@reporthook/test-support/asking";
import { freePort } from "@reporthook/test-support/free-port";
import { listenLocally } from "@reporthook/test-support/listening";
import { patient } from "@reporthook/test-support/patient";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { describe, expect, it, vi } from "vitest";
import { cli, cliFails, type Running, startCli } from "./process.ts";

const folder = temporaryFolder();

async function startDev(...args: string[]): Promise<{ dev: Running; url: string }> {
  const dev = startCli(["dev", "--port", "0", ...args], { cwd: folder });
  const text = await dev.printed("quit\n");
  return { dev, url: /service +(\S+)/.exec(text)?.[1] ?? "" };
}

async function end(dev: Running): Promise<void> {
  dev.child.kill("SIGTERM");
  expect(await dev.ended()).toMatchObject({ code: 0, err: "" });
}

describe("the command dev", () => {
  it("reporthook dev does the typed commands, and ends with q", async () => {
    const { dev } = await startDev();
    dev.type("t");
    await dev.printed(/handled +\w{26} test_webhook_endpoint/);
    dev.type("n");
    await dev.printed(/handled +\w{26} report\.processing/);
    await dev.printed(/handled +\w{26} report\.complete/);
    dev.type("r");
    await dev.printed(/(handled +\w{26} report\.complete[\s\S]*){2}/);
    dev.type("?");
    await dev.printed(/quit\n[\s\S]*quit\n/);
    dev.type("q");
    const { code, err } = await dev.ended();
    expect([code, err]).toEqual([0, ""]);
    expect(readFileSync(join(folder, ".reporthook/.gitignore"), "utf8")).toBe("*\n");
  });

  it("reporthook dev spells command lines as they are typed: in a clone, for the workspace's script", async () => {
    const manifest = new URL("../../package.json", import.meta.url);
    const { name, scripts } = JSON.parse(readFileSync(manifest, "utf8"));
    expect(scripts).toHaveProperty("reporthook");
    const dev = startCli(["dev", "--port", "0", "--db", "a clone.db", "--receiver", "shop"], {
      cwd: folder,
      env: { npm_package_name: name },
    });
    const inClone = "npx --yes pnpm@10 -s reporthook";
    const text = await dev.printed("quit\n");
    expect(text).toContain(`\n  ${inClone} trigger report.complete \\\n    --to http`);
    const to = /--to (\S+)/.exec(text)?.[1] ?? "";
    await cli(["trigger", "report", "--signature", "none", "--to", to]);
    const parked = /^(npx .*) inbox release \w{26} --receiver shop --db 'a clone\.db'\n/m;
    expect(parked.exec(await dev.printed(parked))?.[1]).toBe(inClone);
    await end(dev);
  });

  it("reporthook dev shows the way of forged, unsigned and unknown notifications", async () => {
    const { dev, url } = await startDev("--db", "ways.db");
    const to = `${url}/webhooks/reports`;
    await cli(["trigger", "report", "--signature", "invalid", "--to", to]);
    await dev.printed(/rejected +\w{26} rejected/);
    await cli(["trigger", "report", "--signature", "none", "--to", to]);
    await dev.printed(/parked +\w{26} held/);
    await dev.printed("Headers:");
    await cli(["trigger", "unknown", "--to", to]);
    await dev.printed(/handled +\w{26} unknown/);
    await end(dev);
  });

  it("reporthook dev passes everything on to an app that asks its service", async () => {
    const server = createServer((req, res) => handle(req, res));
    // Nobody else may listen there once it has ended.
    const port = await freePort();
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    const app = `http://127.0.0.1:${port}/hook`;
    const { dev, url } = await startDev("--forward", app);
    const printed = await dev.printed("REPORTS_API_KEY=");
    const apiKey = /REPORTS_API_KEY=(\S+)/.exec(printed)?.[1] ?? "";
    const client = createClient({ baseUrl: url, apiKey });
    const inbox = sqliteInbox(join(folder, "app.db"));
    const receiver = createReceiver({ client, inbox, ...patient });
    const types: string[] = [];
    receiver.on("*", ({ type }) => void types.push(type));
    const handle = nodeHandler(receiver);
    // Opened ahead: the sender waits only 5 seconds for an answer.
    await inbox.open();

    await cli(["trigger", "report.internal_error", "--to", `${url}/webhooks/reports`]);
    await dev.printed(
      /sent +report\.internal_error to http\S+:\s+200\s+accepted\s+in\s+[\d.]+\s+ms,\s+\w{26}\n/,
    );
    await dev.printed(
      /asked +(\w{26} )?report\.internal_error: the\s+service\s+says\s+valid\s+\(200\)/,
    );
    // A report that the app itself asks for, with its own address.
    await client.requestReport({ webhook_url: app });
    await dev.printed(/sent +report\.complete to/);
    dev.type("t");
    await dev.printed(/sent +test_webhook_endpoint to/);
    await receiver.idle({ timeoutMs: 60_000 });
    expect(types.sort()).toEqual([
      "report.complete",
      "report.internal_error",
      "report.processing",
      "test_webhook_endpoint",
    ]);
    await receiver.close();
    server.close();
    server.closeAllConnections();

    const lost = await cli(["trigger", "report", "--to", `${url}/webhooks/reports`]);
    expect([lost.code, lost.out]).toEqual([1, expect.stringContaining("ECONNREFUSED")]);
    expect(lost.err).toContain("start the app");
    await dev.printed(/sent +report\.complete to [\s\S]*ECONNREFUSED/);
    await end(dev);
  });

  it("reporthook dev tells that an app did not ask within 5 seconds, and what the service said to a forged notification", async () => {
    const server = createServer(async (req, res) => {
      const signature = req.headers["x-svc-authorization"];
      if (typeof signature === "string" && signature === forged) {
        await createClient({ baseUrl: url, apiKey: "test-api-key" }).authorize(signature);
      }
      res.end("{}");
    });
    const app = await listenLocally(server);
    const { dev, url } = await startDev("--forward", `${app}/hook`);
    const { headers, body } = createEmulator({ apiKey: "another" }).notification("report");
    const forged = headers["X-svc-authorization"];
    const to = `${url}/webhooks/reports`;
    await cli(["trigger", "report.complete", "--to", to]);
    await fetch(to, { method: "POST", headers, body });
    await dev.printed(/asked +report\.complete:\s+the\s+service\s+says\s+invalid\s+\(406\)/);
    await vi.waitFor(
      () => expect(dev.out()).toMatch(/unasked +report\.complete: the app did not ask/),
      { timeout: 20_000 },
    );
    await end(dev);
    server.close();
    server.closeAllConnections();
  });

  it("reporthook dev tells at once that it refuses the API key of an app, and which it must be", async () => {
    const { dev, url } = await startDev("--forward", "http://127.0.0.1:9/hook");
    const client = createClient({ baseUrl: url, apiKey: "another-key" });
    await expect(client.authorize("a signature")).rejects.toThrow("401");
    await dev.printed(/refused +an app's API key \(401\): [\s\S]* REPORTS_API_KEY=test-api-key\n/);
    await end(dev);
    expect(dev.out()).not.toContain("another-key");
  });

  it("reporthook dev prints times in UTC, as inbox does, wherever it runs", async () => {
    const env = { TZ: "Asia/Kathmandu" };
    const dev = startCli(["dev", "--port", "0", "--db", "zone.db"], { cwd: folder, env });
    await dev.printed("quit\n");
    const minute = (): string => new Date().toISOString().slice(11, 16);
    const minutes = [minute()];
    dev.type("t");
    const [, shown] = /(\S+):\d\dZ +handled/.exec(await dev.printed(/Z +handled .*\n/)) ?? [];
    minutes.push(minute());
    expect(minutes).toContain(shown);
    await end(dev);
  });

  it("reporthook dev prints a JSON value a line with --json", async () => {
    const dev = startCli(["dev", "--json", "--port", "0", "--db", "json.db"], { cwd: folder });
    const ready = JSON.parse(await dev.printed("\n"));
    expect(ready).toMatchObject({ what: "ready", db: "json.db" });
    await cli(["trigger", "report", "--to", ready.webhook]);
    await dev.printed('"handled"');
    await end(dev);
    const happenings = dev.out().trimEnd().split("\n").slice(1);
    expect(happenings.map((line) => JSON.parse(line))).toMatchObject([
      { what: "received", entry: { state: "received" } },
      { what: "verified", entry: { type: "report.complete" } },
      { what: "handled", entry: { state: "handled" } },
    ]);
  });

  it("reporthook dev says what to do about a port that is taken and a file that can't be", async () => {
    const { dev, url } = await startDev("--db", "port.db");
    const { port } = new URL(url);
    await cliFails(1, ["dev", "--port", port, "--db", "taken.db"], "another with --port", {
      cwd: folder,
    });
    await end(dev);
    await cliFails(1, ["dev", "--port", "0", "--db", "none/dev.db"], "create it", { cwd: folder });
    expect(existsSync(join(folder, "none"))).toBe(false);
    // A folder that can't be made.
    const elsewhere = mkdtempSync(join(folder, "elsewhere-"));
    symlinkSync("nowhere", join(elsewhere, ".reporthook"));
    await cliFails(1, ["dev", "--port", "0"], "with --db", { cwd: elsewhere });
    const host = ["dev", "--host", "203.0.113.9", "--db", "host.db"];
    await cliFails(1, host, "another with --host", { cwd: folder });
  });

  it("reporthook dev refuses the inbox of an app, whose deliveries its handler would take, and opens its own again", async () => {
    const db = join(folder, "of an app.db");
    const emulator = createEmulator();
    const client = createClient(emulator.clientOptions);
    const receiver = createReceiver({ client, inbox: sqliteInbox(db), logger: false });
    receiver.on("report", () => {
      throw new Error("the app's database is away");
    });
    await receiver.start();
    await receiver.fetch(new Request("http://app/hook", emulator.notification("report.complete")));
    await vi.waitFor(async () => {
      expect(await receiver.inbox.list()).toMatchObject([{ state: "verified", attempts: 1 }]);
    }, 30_000);
    await receiver.close();
    const refused = startCli(["dev", "--port", "0", "--db", db], { cwd: folder });
    refused.type("q");
    const told = expect.stringContaining("of an app.db is the inbox of an app");
    expect(await refused.ended()).toMatchObject({ code: 1, err: told });
    const looked = await cli(["inbox", "list", "--json", "--db", db]);
    expect(JSON.parse(looked.out).entries).toMatchObject([{ state: "verified", attempts: 1 }]);
    await end((await startDev("--db", "again.db")).dev);
    await end((await startDev("--db", "again.db", "--receiver", "shop")).dev);
  });

  it("reporthook dev takes nothing from web pages, under any name of this machine", async () => {
    const { dev, url } = await startDev("--db", "pages.db");
    const { port } = new URL(url);
    const answerTo = async (headers: Record<string, string>): Promise<number> => {
      const body = '{"webhook_url":"http://127.0.0.1:9/hook"}';
      return (await ask(`${url}/batch/v4/request-report`, headers, "POST", body)).status;
    };
    for (const [headers, status] of [
      [{ origin: "https://page.example" }, 403],
      [{ origin: "null" }, 403],
      [{ "sec-fetch-site": "cross-site" }, 403],
      [{ "sec-fetch-site": "same-site" }, 403],
      [{ host: `rebound.example:${port}` }, 421],
      [{ host: "127.0.0.1.rebound.example" }, 421],
    ] as const) {
      expect([headers, await answerTo(headers)]).toEqual([headers, status]);
    }
    const hook = await fetch(`${url}/webhooks/reports`, {
      method: "POST",
      headers: { origin: "https://page.example" },
    });
    expect([hook.status, await hook.text()]).toEqual([403, expect.stringContaining("web pages")]);
    expect(dev.out()).not.toContain("received");
    for (const host of [`localhost:${port}`, `127.0.0.2:${port}`, "[::1]"]) {
      expect([host, await answerTo({ host, "sec-fetch-site": "none" })]).toEqual([host, 200]);
    }
    await end(dev);
  });

  it("reporthook dev takes any name of this machine if others may reach it, and still nothing from web pages", async () => {
    const { dev, url } = await startDev("--db", "open.db", "--host", "0.0.0.0");
    expect((await ask(`${url}/`, { host: "playground:4747" })).status).toBe(404);
    expect((await ask(`${url}/`, { origin: "http://playground:4747" })).status).toBe(403);
    dev.child.kill("SIGTERM");
    expect((await dev.ended()).code).toBe(0);
  });

  it("reporthook dev forwards a notification to itself only once, under any name of this machine", async () => {
    const port = String(await freePort());
    const { dev, url } = await startDev(
      "--port",
      port,
      "--forward",
      `http://localhost:${port}/webhooks/reports`,
    );
    const { code, out } = await cli(["trigger", "report", "--to", `${url}/webhooks/reports`]);
    expect([code, out]).toEqual([1, expect.stringContaining("leads back here")]);
    await dev.printed(/sent +report\.complete to\s+\S+\s+508/);
    await end(dev);
    expect(dev.out().match(/sent +report/g)).toHaveLength(1);
  });

  it("reporthook dev bears strange requests: an address without end, a body that is too large", async () => {
    const { dev, url } = await startDev("--db", "large.db");
    const ask = (body: object): Promise<Response> =>
      fetch(`${url}/batch/v4/request-report`, { method: "POST", body: JSON.stringify(body) });
    await ask({ webhook_url: `http://127.0.0.1:9/${"a".repeat(1_000_000)}` });
    await dev.printed(/sent +report\.processing to\s+http:[\sa./:0-9]+…: /);
    expect((await ask({ domains: ["a".repeat(2_000_000)] })).status).toBe(413);
    await end(dev);
  });
});
