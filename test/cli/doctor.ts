import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { createClient, createReceiver, memoryInbox, type ReceiverOptions } from "@reporthook/core";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { reporthook } from "@reporthook/express";
import { listenLocally } from "@reporthook/test-support/listening";
import { missingProgram, testWith } from "@reporthook/test-support/needs";
import { answering } from "@reporthook/test-support/service-calls";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import express, { type RequestHandler } from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Check, Times } from "#cli";
import { checkIgnored, checkKey } from "#cli";
import { cli, cliJson, cliOnTerminal, widest } from "./process.ts";

let emulator: Emulator;
let service: string;
let server: Server;
let base: string;
const closing: (() => Promise<void>)[] = [];
const seen: string[] = [];

/** The webhook of an app that uses the emulator as its service. */
function webhook(
  options: Partial<ReceiverOptions> = {},
  apiKey: string = "test-api-key",
): RequestHandler {
  const client = createClient({ baseUrl: service, apiKey });
  const receiver = createReceiver({ client, inbox: memoryInbox(), logger: false, ...options });
  receiver.on("*", ({ type }) => void seen.push(type));
  closing.push(() => receiver.close());
  return reporthook(receiver) as RequestHandler;
}

/** The statuses of answers, by their number. */
const statuses: Readonly<Record<string, (count: number) => number>> = {
  "/limits": (count) => (count > 10 ? 429 : 200),
  "/capped": (count) => (count > 2 ? 401 : 200),
  "/alternates": (count) => (count % 2 === 0 ? 404 : 200),
};

const swallow: RequestHandler = (req, _, next) => {
  req.resume().on("end", () => next());
};

beforeAll(async () => {
  emulator = createEmulator();
  service = (await emulator.listen()).url;
  const app = express().set("env", "test");
  app.post("/good", webhook());
  app.use("/all", webhook({ verify: "before-ack" }));
  app.post("/refuses", webhook({ unsignedTests: "refuse" }));
  app.post("/parser", express.json(), webhook());
  app.post("/other-key", webhook({}, "another-key"));
  app.post("/eaten", swallow, webhook());
  app.post("/slow", (_, res) => void setTimeout(() => res.json({}), 1_100));
  app.post("/yes", (_, res) => void res.json({}));
  app.post("/moved", (_, res) => res.redirect(301, "/good"));
  for (const [path, statusOf] of Object.entries(statuses)) {
    let count = 0;
    app.post(path, (_, res) => {
      const status = statusOf(++count);
      res.status(status).json(status === 401 ? { code: "missing_signature" } : {});
    });
  }
  app.post("/cuts", (req, res) => {
    if (Number(req.headers["content-length"]) > 1_000) req.socket.destroy();
    else res.end("{}");
  });
  app.post("/hangs", (req, res) => {
    if (Number(req.headers["content-length"]) < 1_000) res.end("{}");
  });
  let isUp = true;
  app.all("/dies", (req, res) => {
    isUp &&= Number(req.headers["content-length"] ?? 0) < 1_000;
    if (isUp) res.end("{}");
    else req.socket.destroy();
  });
  app.post("/breaks", (req, res) => {
    seen.push("breaks");
    res.status(seen.filter((type) => type === "breaks").length < 3 ? 200 : 500).end();
    req.resume();
  });
  server = createServer(app);
  base = await listenLocally(server);
});

afterAll(async () => {
  server.close();
  server.closeAllConnections();
  for (const close of closing) await close();
  await emulator.close();
});

/** The output of `doctor --json`. */
interface Report {
  readonly checks: readonly Check[];
  readonly times: Times;
}

interface Diagnosis {
  readonly code: number | null;
  readonly value: Report;
  readonly checks: readonly Check[];
  /** By name. */
  readonly results: Readonly<Record<string, Check["result"]>>;
}

async function diagnose(path: string, ...more: string[]): Promise<Diagnosis> {
  const args = ["doctor", "--requests", "3", "--to", base + path, ...more];
  const { code, value } = await cliJson<Report>(args, { env: { REPORTS_URL: service } });
  const results = value.checks.map(({ name, result }) => [name, result]);
  return { code, value, results: Object.fromEntries(results), checks: value.checks };
}

describe("the command doctor", () => {
  it("reporthook doctor finds a receiver fit, without anything signed", async () => {
    const from = seen.length;
    const { code, value, results } = await diagnose("/good");
    expect(code).toBe(0);
    const { "answer time": time, ...others } = results;
    expect(new Set(Object.values(others))).toEqual(new Set(["pass"]));
    // A machine with much else to do may make the answers late.
    expect(time).toBe(value.times.p99Ms < 1_000 ? "pass" : "warn");
    expect(value.times).toMatchObject({ count: 3, p50Ms: expect.any(Number) });
    expect(value.times.p99Ms).toBeGreaterThanOrEqual(value.times.p50Ms);
    const sent = seen.slice(from);
    expect(sent).toEqual(sent.map(() => "test_webhook_endpoint"));
    expect(emulator.deliveries).toEqual([]);
  });

  it("reporthook doctor says before it starts what it sends, in 80 columns", async () => {
    const args = ["doctor", "--requests", "2", "--to", `${base}/parser`];
    const { code, out } = await cliOnTerminal(args);
    expect(code).toBe(0);
    expect(out.replaceAll("\n", " ")).toMatch(
      /^Sends 3 unsigned test notifications, .* a few malformed requests .* nothing signed/,
    );
    expect(out).toContain("mount the");
    expect(widest(out)).toBeLessThanOrEqual(80);
  });

  it.each([
    ["other methods that are refused", "/all", 0, { methods: "pass", "body parser": "pass" }],
    ["that unsigned tests are refused", "/refuses", 0, { reachable: "warn", oversized: "pass" }],
    ["a body parser ahead", "/parser", 0, { "body parser": "warn", oversized: "warn" }],
    ["a body that is consumed ahead", "/eaten", 1, { reachable: "fail" }],
    ["no webhook at all", "/nothing", 1, { reachable: "fail" }],
    ["a redirect", "/moved", 1, { reachable: "fail" }],
    ["an app that begins to fail", "/breaks", 1, { reachable: "pass", "answer time": "fail" }],
    ["a connection that is cut", "/cuts", 1, { oversized: "warn", "body parser": "fail" }],
    ["an app that hangs at a large body", "/hangs", 1, { oversized: "fail" }],
    ["an app that dies of a large body", "/dies", 1, { oversized: "fail" }],
    ["slow answers", "/slow", 1, { "answer time": "warn" }],
    ["what says yes to all", "/yes", 1, { "body parser": "fail", oversized: "fail" }],
  ])("reporthook doctor tells %s", async (_, path, expected, wanted) => {
    const { code, results, checks } = await diagnose(path);
    expect(code).toBe(expected);
    expect(results).toMatchObject(wanted);
    for (const { result, fix, type } of checks) {
      if (result !== "pass") expect(fix).toEqual(expect.any(String));
      if (result === "fail") expect(type).toEqual(expect.any(String));
    }
  });

  it.each([
    ["/limits", "2 of 11 failed: answered 429", "Exempt this path from the rate limit."],
    [
      "/alternates",
      "6 of 11 failed: answered 404",
      "Correct the URL, or mount the receiver at this path, for POST.",
    ],
  ])("reporthook doctor fails when later answers are not 2xx: %s", async (path, says, fix) => {
    const { code, checks } = await diagnose(path, "--requests", "11");
    const check = checks.find(({ name }) => name === "answer time");
    expect([code, check]).toMatchObject([1, { result: "fail", says, fix }]);
  });

  it("reporthook doctor does not fail when the receiver refuses too many unsigned notifications", async () => {
    const { code, checks } = await diagnose("/capped");
    const check = checks.find(({ name }) => name === "answer time");
    expect([code, check?.says]).toEqual([0, expect.stringContaining("; 2 refused as too many")]);
  });

  it("reporthook doctor tells that nothing listens", async () => {
    const { code, value } = await cliJson<Report>(["doctor", "--to", "http://127.0.0.1:9/hook"]);
    expect(code).toBe(1);
    expect(value.checks).toMatchObject([
      { name: "reachable", result: "fail", type: expect.any(String) },
    ]);
  });

  testWith(missingProgram("git"))(
    "reporthook doctor warns of an inbox file that git does not ignore",
    async () => {
      const folder = temporaryFolder();
      writeFileSync(join(folder, "inbox.db"), "");
      expect(checkIgnored(folder)).toBe(null);
      spawnSync("git", ["init", "--quiet"], { cwd: folder });
      expect(checkIgnored(folder)).toMatchObject({ name: "git", result: "warn" });
      spawnSync(checkIgnored(folder)?.type ?? "", { cwd: folder, shell: true });
      expect(checkIgnored(folder)).toBe(null);
    },
  );

  it.each([
    ["/nothing", 'app.post("/nothing", reporthook(receiver));'],
    ["/moved", "npx reporthook doctor --to "],
    ["/eaten", 'app.post("/eaten", reporthook(receiver));'],
  ])("reporthook doctor says what to type about %s, in 80 columns", async (path, line) => {
    const { code, out } = await cliOnTerminal(["doctor", "--to", base + path]);
    expect([code, out]).toEqual([1, expect.stringContaining(`\n               › ${line}`)]);
    expect(widest(out)).toBeLessThanOrEqual(80);
  });

  it.each([
    [406, 0, "pass", "refuses a made-up signature"],
    [200, 1, "fail", "CALLS A MADE-UP SIGNATURE VALID"],
    [424, 1, "fail", "CALLS A MADE-UP SIGNATURE EXPIRED"],
    [401, 1, "fail", "REPORTS_API_KEY"],
    [404, 1, "fail", "404"],
  ])("reporthook doctor reads the service's answer %i", async (status, expected, result, said) => {
    const REPORTS_URL = await answering(status, {}, "{}");
    const args = ["doctor", "--requests", "1", "--to", `${base}/good`];
    const env = { REPORTS_URL, REPORTS_API_KEY: "a-key-of-the-tests" };
    const { code, value } = await cliJson<Report>(args, { env });
    expect(code).toBe(expected);
    const check = value.checks.find(({ name }) => name === "service");
    expect(check).toMatchObject({ result, says: expect.stringContaining(said) });
    if (result === "fail") expect(check?.type).toEqual(expect.any(String));
  });

  it("reporthook doctor fails when the service refuses the API key of the app, and says so before the rest of what is signed", async () => {
    const { code, results, checks } = await diagnose("/other-key", "--signed");
    expect([code, results]).toMatchObject([1, { "API key": "fail", signed: "pass" }]);
    const names = checks.map(({ name }) => name);
    expect(names.indexOf("API key")).toBe(names.indexOf("signed") - 1);
    const { says, fix } = checks.find(({ name }) => name === "API key") ?? {};
    expect([says, fix]).toEqual([
      expect.stringContaining("(401)"),
      expect.stringContaining(`REPORTS_API_KEY of the service at ${service}`),
    ]);
  });

  it("reporthook doctor fails when the app has not asked the service", async () => {
    const { headers } = emulator.notification("report");
    const { result, says, type } = await checkKey(service, headers, 0);
    expect([result, says]).toEqual([
      "fail",
      expect.stringContaining(
        "it asks another one, none, or has paused because its key was refused",
      ),
    ]);
    expect(type).toBe(`REPORTS_URL=${service} REPORTS_API_KEY=test-api-key npm start`);
  });

  it("reporthook doctor sends signed notifications only where an emulator with the same key is asked about them", async () => {
    const from = seen.length;
    const { code, results, checks } = await diagnose("/all", "--signed");
    expect(code).toBe(0);
    expect(results).toMatchObject({ signed: "pass", duplicate: "pass", forged: "pass" });
    expect(checks.find(({ name }) => name === "forged")?.says).toContain("401");
    expect(seen.slice(from)).toContain("report.complete");

    expect(results).toMatchObject({ "API key": "pass", service: "pass" });

    const env = { REPORTS_URL: service, REPORTS_API_KEY: "another-key" };
    const args = ["doctor", "--signed", "--to", `${base}/good`];
    const before = seen.length;
    const refused = await cli(args, { env });
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("--signed needs an emulator");
    expect(seen).toHaveLength(before);
  });
});
