import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { listenLocally } from "@reporthook/test-support/listening";
import { programOf } from "@reporthook/test-support/program";
import { expect, test } from "vitest";
import { blocksOf, programFolder } from "./page.ts";

const [slack = "", mail = "", metrics = ""] = (await blocksOf("docs/monitoring.md")).map(
  ({ code }) => code,
);
const run = promisify(execFile);

const programs = await programFolder();

/** Runs an example of the page with what an app would have around it; resolves to what that prints. */
async function runWith(
  name: string,
  example: string,
  around: string,
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  await writeFile(join(programs, name), `${example}\n${around}`);
  const given = { cwd: programs, env: { ...process.env, ...env }, timeout: 120_000 };
  const bundle = await programOf(pathToFileURL(join(programs, name)));
  const { stdout } = await run(process.execPath, [bundle], given);
  return JSON.parse(stdout);
}

test("the example for Slack posts its message to the webhook", async () => {
  const posted: unknown[] = [];
  const chat = createServer(async (req, res) => {
    posted.push([req.method, req.url, req.headers["content-type"], await json(req)]);
    res.end("ok");
  });
  const chatUrl = await listenLocally(chat);
  const around = `
    import { createEmulator } from "@reporthook/emulator";
    const unsigned = createEmulator().notification("report.complete", { signature: "none" });
    const send = globalThis.fetch;
    const posted = new Promise((resolve) => {
      globalThis.fetch = (address, init) => {
        const answer = send(address, init);
        if (String(init?.body).includes("without a signature")) resolve(answer);
        return answer;
      };
    });
    // On a slow disk it is refused, and that is told of, too.
    while (!(await receiver.fetch(new Request("https://app.example/hook", unsigned))).ok);
    // The timers of alerts keep no process alive.
    const alive = setInterval(() => {}, 1_000);
    await posted;
    clearInterval(alive);
    await receiver.close();
    console.log("true");`;
  await runWith("slack.ts", slack, around, {
    REPORTS_URL: "http://127.0.0.1:9",
    REPORTS_API_KEY: "a-key-that-nobody-may-see",
    SLACK_WEBHOOK_URL: `${chatUrl}/services/T0/B0/secret`,
  });
  chat.close();
  const text = expect.stringMatching(
    /^reports: Notifications come without a signature, .* Look: npx reporthook inbox list --reason unsigned$/,
  );
  expect(posted).toContainEqual(["POST", "/services/T0/B0/secret", "application/json", { text }]);
});

test("the example for e-mail sends a message about an inbox that can't be opened", async () => {
  const around = `
    import { createClient, createReceiver } from "@reporthook/core";
    import { createEmulator } from "@reporthook/emulator";
    import { sqliteInbox } from "@reporthook/sqlite";
    globalThis.transport = {
      async sendMail(mail) {
        console.log(JSON.stringify(mail));
        process.exit();
      },
    };
    const emulator = createEmulator();
    const receiver = createReceiver({
      client: createClient(emulator.clientOptions),
      inbox: sqliteInbox("no-such-folder/inbox.db"),
      logger: false,
      clock: emulator.clock,
      observe,
    });
    await receiver.start().catch(() => {});
    for (;;) {
      emulator.clock.advance(30_000);
      await new Promise((resolve) => setImmediate(resolve));
    }`;
  expect(await runWith("mail.ts", mail, around)).toEqual({
    from: "app@example.com",
    to: "oncall@example.com",
    subject: "reports: The inbox can't store: notifications are answered 503",
    text: expect.stringMatching(/^reports: The inbox can't store: .* 503\. \S.*/),
  });
});

test("the example for Prometheus admits clients that know the token, and others by their login", async () => {
  const around = `
    globalThis.personOf = async (cookie) => (cookie === "ada" ? { name: "Ada", may: "act" } : null);
    const statusOf = async (headers) =>
      (await page(new Request("https://app.example/inbox/metrics", { headers }))).status;
    console.log(JSON.stringify([
      await statusOf({ authorization: "Bearer a-token" }),
      await statusOf({ cookie: "ada" }),
      await statusOf({ authorization: "Bearer another" }),
      await statusOf({ authorization: "Bearer a-tokem" }),
      await statusOf({}),
    ]));
    await receiver.close();`;
  const statuses = await runWith("metrics.ts", metrics, around, { METRICS_TOKEN: "a-token" });
  expect(statuses).toEqual([200, 200, 403, 403, 403]);
});
