import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createClient, createReceiver, memoryInbox } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { freePort } from "@reporthook/test-support/free-port";
import { gate } from "@reporthook/test-support/gate";
import { answering, serve } from "@reporthook/test-support/service-calls";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cli, cliFails, cliJson, type Failed, startCli } from "./process.ts";

const folder = temporaryFolder();
const apiKey = "a-key-of-the-tests";
let emulator: Emulator;
let env: Record<string, string>;

beforeEach(async () => {
  emulator = createEmulator({ apiKey });
  env = { REPORTS_URL: (await emulator.listen(await freePort())).url, REPORTS_API_KEY: apiKey };
});
afterEach(() => emulator.close());

/** The address of an app with one answer, or with this listener. */
async function app(answer: number | RequestListener): Promise<string> {
  const url = typeof answer === "number" ? answering(answer) : serve(answer);
  return `${await url}/hook`;
}

describe("the command test", () => {
  it("reporthook test has the service send a test notification", async () => {
    const to = await app(200);
    const { code, out } = await cli(["test", "--to", to], { env });
    expect([code, out]).toEqual([0, expect.stringContaining("test_webhook_endpoint")]);
    expect(emulator.deliveries).toMatchObject([{ name: "test_webhook_endpoint", url: to }]);
  });

  it("reporthook test fails with the service's error when the address does not answer 2xx", async () => {
    const to = await app(404);
    const { code, value } = await cliJson<Failed>(["test", "--to", to], { env });
    expect(code).toBe(1);
    expect(value.error).toMatchObject({ code: "service_failed", status: 400 });
    expect(JSON.stringify(value.error.body)).toContain("404");
  });

  it("reporthook test names the variable when the key is refused or the service is away", async () => {
    const to = await app(200);
    await cliFails(1, ["test", "--to", to], "REPORTS_API_KEY", {
      env: { ...env, REPORTS_API_KEY: "wrong" },
    });
    await emulator.close();
    await cliFails(1, ["test", "--to", to], "check REPORTS_URL", { env });
  });
});

describe("the command request", () => {
  it("reporthook request sends its options, under the names of the wire", async () => {
    const to = await app(200);
    const args = ["--to", to, "--domain", "a.example", "--domain", "b.example"];
    const more = ["--metric", "m", "--category-id", "7", "--start-date", "2026-01"];
    const rest = ["--end-date", "2026-03", "--granularity", "monthly", "--response-format", "csv"];
    const { code, value } = await cliJson(["request", ...args, ...more, ...rest], { env });
    const [report] = emulator.reports.list();
    expect(code).toBe(0);
    expect(value).toEqual({ status: 200, body: { report_id: report?.id, status: "processing" } });
    expect(report?.request).toEqual({
      webhook_url: to,
      domains: ["a.example", "b.example"],
      metrics: ["m"],
      category_ids: [7],
      start_date: "2026-01",
      end_date: "2026-03",
      granularity: "monthly",
      response_format: "csv",
    });
  });

  it("reporthook request says that an URL is not signed, where there is a secret to sign it with", async () => {
    const to = await app(200);
    const args = ["request", "--domain", "a.example", "--to"];
    const secret = { REPORTS_CALLBACK_SECRET: "0123456789abcdef0123456789abcdef" };
    const errors = async (url: string, more: object) =>
      (await cli([...args, url], { env: { ...env, ...more } })).err;
    expect(await errors(to, secret)).toMatch(/^Not signed: .* callback-url\.$/m);
    expect(await errors(to, {})).not.toContain("Not signed");
    expect(await errors(`${to}?callback_token=1.a.b`, secret)).not.toContain("Not signed");
  });

  it("reporthook request asks once, also when it fails", async () => {
    emulator.fault("request-report", { status: 503, times: 1 });
    const { code, err } = await cli(["request", "--domain", "a.example"], { env });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/503.*: the service may have .* charge/),
    ]);
    expect(emulator.reports.list()).toEqual([]);
    emulator.fault("request-report", { status: 400, times: 1 });
    const refused = await cli(["request", "--domain", "a.example"], { env });
    expect([refused.code, refused.err]).toEqual([1, expect.not.stringContaining("charge")]);
  });

  it("reporthook request says after Ctrl-C that the report may be charged", async () => {
    const arrived = gate();
    const REPORTS_URL = await serve(() => arrived.open());
    const running = startCli(["request", "--domain", "a.example"], {
      env: { ...env, REPORTS_URL },
    });
    await arrived.opened;
    running.child.kill("SIGINT");
    const told = expect.stringMatching(/Interrupted: the service may have .* charge/);
    expect(await running.ended()).toMatchObject({ code: 1, err: told });
  });
});

describe("options", () => {
  it.each([
    ["--domain", ["request"]],
    ["--metric", ["request", "--domain", "a.example"]],
    ["--granularity", ["request", "--domain", "a.example"]],
    ["--report-id", ["trigger", "report.complete"]],
  ])("an option without its value does not take the next one: %s --json", async (option, args) => {
    const to = await app(200);
    const { code, value } = await cliJson<Failed>([...args, "--to", to, option], { env });
    expect([code, value.error.message]).toEqual([2, `${option} needs a value, not --json`]);
    expect(emulator.reports.list()).toEqual([]);
  });
});

describe("the command trigger", () => {
  it("reporthook trigger sends each notification so that the service vouches for it", async () => {
    const receiver = createReceiver({
      client: createClient({ baseUrl: env["REPORTS_URL"] ?? "", apiKey }),
      inbox: memoryInbox(),
      logger: false,
    });
    const types: string[] = [];
    receiver.on("*", ({ type }) => void types.push(type));
    const to = await app(nodeHandler(receiver));
    const names = [
      "test_webhook_endpoint",
      "report.processing",
      "report.internal_error",
      "unknown",
    ];
    for (const name of names) {
      const { code, value } = await cliJson(["trigger", name, "--to", to], { env });
      expect([code, value]).toMatchObject([0, { name, status: 200, body: { status: "accepted" } }]);
    }
    const forged = ["trigger", "report", "--signature", "invalid", "--to", to];
    expect((await cli(forged, { env })).code).toBe(0);
    await receiver.idle({ timeoutMs: 60_000 });
    expect(types).toEqual(names);
    expect((await receiver.inbox.counts()).rejected).toBe(1);
    await receiver.close();
  });

  it("reporthook trigger sends the report and the body it is given", async () => {
    const bodies: string[] = [];
    const to = await app(async (req, res) => {
      bodies.push(await text(req));
      res.end();
    });
    await cli(["trigger", "report.complete", "--report-id", "r-7", "--to", to]);
    await cli(["trigger", "unknown", "--body", '{ "a":1 }', "--to", to]);
    writeFileSync(join(folder, "body.txt"), "no { json");
    await cli(["trigger", "--from", "body.txt", "--to", to], { cwd: folder });
    expect(bodies).toEqual([expect.stringContaining('"r-7"'), '{ "a":1 }', "no { json"]);
  });

  it("reporthook trigger fails with the answer when that is not 2xx", async () => {
    const to = await app((_, res) => void res.writeHead(500).end("out of order"));
    const { code, out, err } = await cli(["trigger", "report", "--to", to]);
    expect([code, out]).toEqual([1, "out of order\n"]);
    expect(err).toContain("answered 500, not 2xx");
  });

  it.each([404, 405])("reporthook trigger says how to mount after %i", async (status) => {
    const to = await app(status);
    const { code, err } = await cli(["trigger", "report", "--to", to]);
    expect(code).toBe(1);
    expect(err).toContain(
      `answered ${status}, not 2xx: correct the URL, or mount the receiver at this path, for POST, app.post("/hook", reporthook(receiver));`,
    );
  });

  it("reporthook trigger names the way out when no playground is there", async ({ skip }) => {
    const port = createServer().listen(4747, "127.0.0.1");
    const isFree = await once(port, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) skip("something listens on the playground's port of this machine");
    port.close();
    await once(port, "close");
    const { code, err } = await cli(["trigger", "report"]);
    expect([code, err]).toEqual([1, expect.stringContaining("npx reporthook dev")]);
    expect(err).toContain("--to");
    const elsewhere = await cli([
      "trigger",
      "report",
      "--to",
      `http://127.0.0.1:${await freePort()}/`,
    ]);
    expect(elsewhere.err).toContain("start the app");
  });

  it("reporthook trigger gives up after 5 seconds as the service does, and shows meanwhile that it waits", async () => {
    const to = await app(() => {});
    const { code, err, progress } = await cli(["trigger", "report", "--to", to]);
    expect([code, progress]).toEqual([1, "Sending report …\n"]);
    expect(err).toMatch(/^reporthook: .*no answer within 5 seconds\n$/);
  });
});
