import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { createClient, createReceiver, type Receiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { listenLocally } from "@reporthook/test-support/listening";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cli, cliJson, startCli, startOnTerminal } from "./process.ts";

const secret = "0123456789abcdef0123456789abcdef";
const customer = { customer: "c-1" };
const context = ["--context", JSON.stringify(customer)];
let emulator: Emulator;
let receiver: Receiver<unknown>;
let server: Server;
let to: string;
let env: Record<string, string>;
let seen: unknown[];

describe("signed URLs", () => {
  beforeEach(async () => {
    seen = [];
    emulator = createEmulator();
    env = {
      REPORTS_URL: (await emulator.listen()).url,
      REPORTS_API_KEY: "test-api-key",
      REPORTS_CALLBACK_SECRET: secret,
    };
    receiver = createReceiver({
      client: createClient(emulator.clientOptions),
      name: "shop",
      callback: { secrets: [secret], require: true },
      logger: false,
    });
    receiver.on("*", ({ type, context }) => void seen.push([type, context]));
    server = createServer(nodeHandler(receiver));
    to = `${await listenLocally(server)}/hook?tenant=a`;
  });
  afterEach(async () => {
    server.close();
    server.closeAllConnections();
    await emulator.close();
    await receiver.close();
  });

  const shop = ["--receiver", "shop"];

  describe("the option --context", () => {
    it("reporthook trigger signs the context of a recorded notification, unless there is another", async () => {
      const folder = temporaryFolder();
      const body = { event_type: "report_status_changed", report_id: "r-1", status: "complete" };
      const headers = { "content-type": "application/json" };
      const recorded = { type: "report.complete", headers, context: customer, body };
      writeFileSync(join(folder, "fixture.json"), JSON.stringify(recorded));
      const args = ["trigger", "--from", "fixture.json", "--to", to, ...shop];
      const ended = await cli(args, { cwd: folder, env });
      expect(ended).toMatchObject({ code: 0, err: "" });
      expect(ended.out).not.toContain("without a context");
      const other = ["--context", '{"customer":"c-2"}'];
      expect((await cli([...args, ...other], { cwd: folder, env })).code).toBe(0);
      expect((await cli([...args, "--context", "null"], { cwd: folder, env })).code).toBe(0);
      writeFileSync(join(folder, "fixture.json"), JSON.stringify({ ...recorded, context: null }));
      expect((await cli(args, { cwd: folder, env })).out).toContain("without a context");
      await receiver.idle();
      const told = [customer, { customer: "c-2" }, null, undefined].map((of) => [
        "report.complete",
        of,
      ]);
      expect(seen).toEqual(told);
    });

    it("reporthook trigger signs the URL with the secret for the receiver that is named", async () => {
      const args = ["trigger", "report.complete", "--to", to];
      expect(await cliJson([...args, ...shop, ...context], { env })).toMatchObject({
        code: 0,
        value: { to, status: 200 },
      });
      const bare = await cli([...args, ...shop], { env });
      expect(bare).toMatchObject({ code: 0, out: expect.stringContaining("without a context") });
      await receiver.idle();
      expect(seen).toEqual([
        ["report.complete", customer],
        ["report.complete", undefined],
      ]);
      const test = await cli(["trigger", "test_webhook_endpoint", "--to", to, ...shop], { env });
      expect(test).toMatchObject({ code: 0, out: expect.not.stringContaining("context") });
      await cli([...args, ...context], { env });
      await receiver.idle();
      expect(await receiver.inbox.list({ state: "held" })).toMatchObject([
        { reason: { code: "no_token" } },
      ]);
    });

    it("reporthook test has the service send its test to the signed URL", async () => {
      const { code, out, err } = await cli(["test", "--to", to, ...shop, ...context], { env });
      expect([code, err]).toEqual([0, ""]);
      await receiver.idle();
      expect(seen).toEqual([["test_webhook_endpoint", customer]]);
      expect(out).not.toContain("callback_token");
    });

    it("reporthook doctor finds a receiver fit that requires a token, also with what is signed", async () => {
      const args = ["doctor", "--signed", "--requests", "2", "--to", to];
      const { code, out } = await cli([...args, ...shop, ...context], { env });
      expect([code, out]).toEqual([0, expect.stringContaining("Ready for notifications")]);
      expect(out).not.toMatch(/callback_token|without a context/);
      await receiver.idle();
      expect(seen).toContainEqual(["report.complete", customer]);
      const bare = await cli([...args, ...shop], { env });
      expect(bare).toMatchObject({ code: 0, out: expect.stringContaining("without a context") });
      const codes = (await receiver.health()).problems.map(({ code: of }) => of);
      expect(codes).not.toContain("lost");
    });

    it("reporthook doctor on a terminal ends with a green headline, and says that the key was not checked", async () => {
      const args = ["doctor", "--requests", "1", "--to", to, ...shop];
      const colours = { ...env, REPORTS_URL: "", FORCE_COLOR: "1" };
      const { code, text } = await startOnTerminal(args, { env: colours }).ended();
      expect(code).toBe(0);
      const headline =
        "\u001b[32mReady for notifications\u001b[39m, if the app has the right API key.";
      expect(text).toContain(headline);
    });

    it("reporthook doctor says that a token is missing", async () => {
      const { REPORTS_CALLBACK_SECRET: _, ...without } = env;
      const { code, out } = await cli(["doctor", "--to", to], { env: without });
      expect(code).toBe(1);
      expect(out.replace(/\s+/g, " ")).toContain("set REPORTS_CALLBACK_SECRET to the app's secret");
    });

    it("reporthook dev --forward signs notifications that it passes on, unless they have a token", async () => {
      const args = ["dev", "--port", "0", "--forward", to, ...shop, ...context];
      const dev = startCli(args, { env: { REPORTS_CALLBACK_SECRET: secret } });
      const url = /service +(\S+)/.exec(await dev.printed("quit\n"))?.[1] ?? "";
      dev.type("t");
      await dev.printed(/sent +test_webhook_endpoint to[\s\S]* 200/);
      const other = { REPORTS_CALLBACK_SECRET: secret };
      const trigger = ["trigger", "test_webhook_endpoint", "--to", `${url}/webhooks/reports?b=1`];
      await cli([...trigger, ...shop, "--context", '"other"'], { env: other });
      await receiver.idle();
      expect(seen).toEqual([
        ["test_webhook_endpoint", customer],
        ["test_webhook_endpoint", "other"],
      ]);
      dev.child.kill("SIGTERM");
      const { out, err } = await dev.ended();
      expect(err).toBe("");
      expect(out).not.toContain("callback_token");
    });

    it("reporthook dev signs the notifications to its own receiver", async () => {
      const cwd = temporaryFolder();
      const own = { cwd, env: { REPORTS_CALLBACK_SECRET: secret } };
      const dev = startCli(["dev", "--port", "0", ...context], own);
      await dev.printed("quit\n");
      dev.type("n");
      await dev.printed(/handled +\w{26} report/);
      // Nothing is said of a token that is missing or wrong.
      expect(dev.out()).not.toContain("token");
      dev.child.kill("SIGTERM");
      expect((await dev.ended()).err).toBe("");
    });

    it.each([
      ["no secret", { REPORTS_CALLBACK_SECRET: "" }, [], "Set REPORTS_CALLBACK_SECRET"],
      [
        "a short secret",
        { REPORTS_CALLBACK_SECRET: "short" },
        [],
        "REPORTS_CALLBACK_SECRET must be",
      ],
      ["no JSON", {}, ["--context", "{"], "It must be JSON"],
      ["a long context", {}, ["--context", `"${"x".repeat(300)}"`], "context is 302 characters"],
      ["a token already", {}, ["--to", "http://127.0.0.1/?callback_token=a"], "omit --context"],
    ])("reporthook trigger refuses --context when there is %s", async (_, more, args, said) => {
      const all = ["trigger", "report", "--to", to, ...context, ...args];
      const { code, out, err } = await cli(all, { env: { ...env, ...more } });
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain(said);
      expect(seen).toEqual([]);
    });

    it("reporthook trigger signs nothing without a secret, and takes a URL with a token as it is", async () => {
      const { REPORTS_CALLBACK_SECRET: _, ...without } = env;
      const unsigned = ["trigger", "report", "--signature", "none", "--to", to];
      const { code, err } = await cli(unsigned, { env: without });
      expect([code, err]).toEqual([1, expect.stringContaining("answered 404")]);
      const url = await receiver.callbackUrl(to, { context: "own" });
      const shown = await cli(["doctor", "--requests", "1", "--to", url], { env: without });
      expect([shown.code, shown.out]).toEqual([0, expect.not.stringMatching(/callback|token/)]);
      for (const given of [env, without]) {
        expect((await cli(["trigger", "report", "--to", url], { env: given })).code).toBe(0);
      }
      await receiver.idle();
      const reports = seen.filter((event) => String(event).startsWith("report."));
      expect(reports).toEqual([
        ["report.complete", "own"],
        ["report.complete", "own"],
      ]);
    });
  });

  describe("the command callback-url", () => {
    it("reporthook callback-url prints the signed URL, and nothing without a secret", async () => {
      const args = ["callback-url", to, ...shop, ...context];
      const { code, out, err } = await cli(args, { env });
      expect([code, err]).toEqual([0, ""]);
      expect(out.trim()).toBe(await receiver.callbackUrl(to, { context: customer }));
      expect((await cliJson(args, { env })).value).toEqual({ url: out.trim() });
      const without = await cli(["callback-url", to], { env: { REPORTS_CALLBACK_SECRET: "" } });
      expect([without.code, without.out]).toEqual([2, ""]);
      expect(without.err).toContain("Set REPORTS_CALLBACK_SECRET");
    });
  });
});
