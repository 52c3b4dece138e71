import { type ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createEmulator, type Notification } from "@reporthook/emulator";
import { freePort } from "@reporthook/test-support/free-port";
import { build, stop } from "esbuild";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { pack, pnpm } from "../cli/install.ts";
import { end, launch } from "./launched.ts";
import { runtimes } from "./runtimes.ts";
import { runWorker } from "./workerd.ts";

const examples = fileURLToPath(new URL("../../examples", import.meta.url));
const path = "/webhooks/reports";
const emulator = createEmulator();
const ending: (() => Promise<unknown>)[] = [];
let folder: string;
let env: Record<string, string>;

// Each example is installed as its user would do it, but for where our packages come from.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reporthook-examples-"));
  const packed = ["core", "emulator", "express", "hono", "koa", "sqlite"];
  const overrides = await pack(packed, folder);
  await cp(examples, folder, { recursive: true });
  // Next.js resizes images with sharp, which no webhook needs.
  const workspace = {
    packages: ["*"],
    overrides: { ...overrides, "next>sharp": "-" },
    autoInstallPeers: false,
    strictPeerDependencies: false,
  };
  await writeFile(join(folder, "package.json"), '{ "private": true }');
  await writeFile(join(folder, "pnpm-workspace.yaml"), JSON.stringify(workspace));
  await pnpm(["install", "--prefer-offline", "--ignore-scripts", "--no-frozen-lockfile"], folder);
  const { url } = await emulator.listen();
  const key = { REPORTS_API_KEY: emulator.clientOptions.apiKey };
  env = { REPORTS_URL: url, ...key, REPORTS_CALLBACK_SECRET: "0123456789abcdef0123456789abcdef" };
});
afterEach(async () => {
  for (const ended of ending.splice(0)) await ended();
});
afterAll(async () => {
  await stop();
  await emulator.close();
  await rm(folder, { recursive: true });
});

/** The output of a program, on which a test can wait. */
class Output {
  text = "";

  add(stream: NodeJS.ReadableStream | null): void {
    stream?.setEncoding("utf8").on("data", (chunk) => {
      this.text += chunk;
    });
  }

  says(line: string): Promise<void> {
    return expect.poll(() => this.text).toContain(line);
  }
}

function start(example: string, command: readonly string[], more = {}): Started {
  const options = {
    cwd: join(folder, example),
    env: { ...process.env, ...env, ...more },
  };
  const child = launch(command, { ...options, stdio: "pipe" });
  const output = new Output();
  output.add(child.stdout);
  output.add(child.stderr);
  ending.push(() => end(child));
  return { child, output };
}

interface Started {
  readonly child: ChildProcess;
  readonly output: Output;
}

/** Starts a server and resolves when it takes connections. */
async function serve(
  example: string,
  command: readonly string[],
): Promise<Started & { url: string }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const started = start(example, command, { PORT: String(port), APP_URL: url });
  for (;;) {
    if (started.child.exitCode !== null) throw new Error(started.output.text);
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return { ...started, url };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const post = async (url: string, sent: Notification): Promise<unknown[]> => {
  const answer = await fetch(url, sent);
  return [answer.status, ((await answer.json()) as { code?: string }).code];
};
const genuine = (reportId: string, body?: string): Notification =>
  emulator.notification("report.complete", { reportId, ...(body !== undefined && { body }) });
const forged = (): Notification =>
  emulator.notification("report.complete", { signature: "invalid" });
const unsigned = (body: string): Notification =>
  emulator.notification("report.complete", { signature: "none", body });

async function expectStored(url: string, output: Output): Promise<void> {
  expect(await post(url, forged())).toEqual([200, undefined]);
  expect(await post(url, genuine("größe-1"))).toEqual([200, undefined]);
  await output.says("Report größe-1 is ready");
  expect(output.text).not.toContain("null");
}

async function expectHandled(url: string, output: Output): Promise<void> {
  expect(await post(url, forged())).toEqual([401, "invalid_signature"]);
  expect(await post(url, genuine("größe-1"))).toEqual([200, undefined]);
  await output.says("Report größe-1 is ready");
}

test.each(["express", "koa", "hono"])(
  "an example with %s passes its test, brings a report to who asked for it, and ends at SIGTERM",
  async (name) => {
    await pnpm(["--silent", "test"], join(folder, name));
    const command = [process.execPath, "--import", "tsx", "server.ts"];
    const { url, output, child } = await serve(name, command);
    const headers = { "content-type": "application/json", "x-user": "ada" };
    const body = JSON.stringify({ domains: ["example.com"] });
    const asked = await fetch(`${url}/reports`, { method: "POST", headers, body });
    expect(asked.status).toBe(202);
    const report = emulator.reports.list().at(-1);
    await emulator.reports.setStatus(report?.id ?? "", "complete");
    await output.says(`Report ${report?.id} is ready: tell ada`);
    expect(await post(url + path, forged())).toEqual([200, undefined]);
    const health = await fetch(`${url}/health`);
    expect([health.status, await health.json()]).toEqual([200, { ready: true }]);
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  },
);

test("an example with Fastify has a parser that does not come between", async () => {
  const { url, output } = await serve("fastify", [process.execPath, "app.js"]);
  await expectStored(url + path, output);
  expect(await post(url + path, unsigned('{"status":'))).toEqual([400, "invalid_json"]);
  expect(await post(url + path, genuine("r-2", "no JSON"))).toEqual([200, undefined]);
  expect((await fetch(url + path)).status).toBe(404);
});

describe("nextjs", () => {
  test("an example with Next.js has a route handler, and an API route behind the body parser", async () => {
    const next = join(folder, "nextjs/node_modules/next/dist/bin/next");
    const options = { cwd: join(folder, "nextjs") };
    await promisify(execFile)(process.execPath, [next, "build"], options);
    const { url, output } = await serve("nextjs", [process.execPath, next, "start"]);
    await expectHandled(url + path, output);
    expect(await post(url + path, unsigned('{"status":'))).toEqual([400, "invalid_json"]);
    expect((await fetch(url + path)).status).toBe(405);
    const parsed = `${url}/api${path}`;
    expect(await post(parsed, forged())).toEqual([401, "invalid_signature"]);
    expect(await post(parsed, genuine("r-2"))).toEqual([200, undefined]);
    await output.says("Report r-2 is ready");
  });
});

test("an example with Lambda takes the event of a function URL, with its body as text or in base64", async () => {
  const loop = `import { createInterface } from "node:readline";
    import { handler } from "./handler.js";
    for await (const line of createInterface(process.stdin)) {
      console.log(JSON.stringify(await handler(JSON.parse(line))));
    }`;
  const command = [process.execPath, "--input-type=module", "--eval", loop];
  const { child, output } = start("lambda", command, { AWS_LAMBDA_FUNCTION_NAME: "reports" });
  const answers = createInterface({ input: child.stdout as NodeJS.ReadableStream })[
    Symbol.asyncIterator
  ]();
  const invoke = async (
    { method, headers, body }: Omit<Notification, "method"> & { readonly method: string },
    isBase64Encoded: boolean,
  ): Promise<unknown[]> => {
    const http = {
      method,
      path,
      protocol: "HTTP/1.1",
      sourceIp: "192.0.2.1",
      userAgent: "reports",
    };
    const event = {
      version: "2.0",
      routeKey: "$default",
      rawPath: path,
      rawQueryString: "a=1",
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      requestContext: { domainName: "id.lambda-url.eu-west-1.on.aws", http },
      body: isBase64Encoded ? Buffer.from(body).toString("base64") : body,
      isBase64Encoded,
    };
    child.stdin?.write(`${JSON.stringify(event)}\n`);
    const { statusCode, headers: answered, body: text } = JSON.parse((await answers.next()).value);
    return [statusCode, answered["content-type"], JSON.parse(text).code];
  };
  const problem = "application/problem+json";
  for (const encoded of [false, true]) {
    expect(await invoke(forged(), encoded)).toEqual([401, problem, "invalid_signature"]);
    expect(await invoke(genuine(`größe-${encoded}`), encoded)).toEqual([
      200,
      "application/json",
      undefined,
    ]);
    await output.says(`Report größe-${encoded} is ready`);
    const answer = await invoke({ ...forged(), method: "GET" }, encoded);
    expect(answer).toEqual([405, problem, "method_not_allowed"]);
  }
});

test("an example with Cloudflare Workers handles a notification", async () => {
  const [workerd] = runtimes.filter(({ kind }) => kind === "worker");
  if (workerd === undefined) throw new Error("There is no workerd");
  await build({
    entryPoints: [join(folder, "cloudflare-worker/worker.js")],
    bundle: true,
    format: "esm",
    conditions: ["workerd", "worker"],
    external: ["cloudflare:workers"],
    outfile: fileURLToPath(new URL("dist/example.js", import.meta.url)),
  });
  const output = new Output();
  const worker = await runWorker(workerd.command, "example.js", { bindings: env });
  output.add(worker.output);
  ending.push(worker.end);
  await expectHandled(worker.url + path, output);
  await expectHandled(worker.url + path, output);
  expect((await fetch(worker.url)).status).toBe(404);
});

test("an example with Bun.serve stores a notification", async () => {
  const bun = runtimes.find(({ name }) => name.startsWith("Bun"))?.command ?? [];
  const { url, output } = await serve("bun", [...bun, "server.js"]);
  await expectStored(url + path, output);
  expect((await fetch(url + path)).status).toBe(404);
});

test("each example is short: under 20 lines of glue, an app to start from 60 a file", async () => {
  for (const example of await readdir(examples)) {
    const files = await readdir(join(examples, example), { recursive: true });
    const sources = files.filter((file) => file.endsWith(".js"));
    const texts = sources.map((file) => readFile(join(examples, example, file), "utf8"));
    const lines = (await Promise.all(texts)).join("\n").split("\n");
    for (const file of files.filter((file) => file.endsWith(".ts"))) {
      const text = await readFile(join(examples, example, file), "utf8");
      expect(text.trimEnd().split("\n").length, file).toBeLessThanOrEqual(60);
    }
    const glue = lines.filter((line) => !/^\s*(\/[/*]|$)|^import /.test(line));
    expect(glue.length, example).toBeLessThan(20);
  }
});
