import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { createClient, createReceiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { sqliteInbox } from "@reporthook/sqlite";
import { freePort } from "@reporthook/test-support/free-port";
import {
  describeWith,
  missingForShim,
  missingProgram,
  testWith,
} from "@reporthook/test-support/needs";
import { patient } from "@reporthook/test-support/patient";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { describe, expect, it, vi } from "vitest";
import { usualPorts } from "#cli";
import { Site } from "../inboxes/durability/disk/shimmed.ts";
import { cli, type OnTerminal, startCli, startOnTerminal } from "./process.ts";

const folder = temporaryFolder();

const [up, down, ctrlC] = ["\u001b[A", "\u001b[B", "\u0003"];
const noScript = missingProgram("script", "bsdutils");

/** A program for the browser that writes the address into a file. */
function browser(name: string): { readonly env: Record<string, string>; opened(): string } {
  const file = join(folder, `${name}.opened`);
  const bin = mkdtempSync(join(folder, "bin-"));
  for (const command of ["xdg-open", "open"]) {
    writeFileSync(join(bin, command), `#!/bin/sh\nprintf %s "$1" > '${file}'\n`);
    chmodSync(join(bin, command), 0o755);
  }
  return {
    env: { PATH: `${bin}:${process.env["PATH"]}` },
    opened: () => readFileSync(file, "utf8"),
  };
}

/** Starts a playground with a separate inbox on a terminal. */
async function startDev(db: string, env: Record<string, string> = {}): Promise<OnTerminal> {
  const dev = startOnTerminal(["dev", "--port", "0", "--db", db], { cwd: folder, env });
  await dev.shown("No notification yet");
  return dev;
}

async function end(dev: OnTerminal, key: string = "q"): Promise<string> {
  dev.press(key);
  const { code, settings, text } = await dev.ended();
  expect(code, text).toBe(0);
  expect(settings).toMatch(/ icanon .* echo /s);
  return text;
}

describeWith(noScript)("reporthook dev on a terminal", () => {
  it("reporthook dev has arrows choose a notification, d show its details and r send it again", async () => {
    const dev = await startDev("arrows.db");
    dev.press("t");
    await dev.shown(/handled +\w{26} test_webhook_endpoint/);
    dev.press("n");
    await dev.shown(/handled +\w{26} report\.complete/);
    await dev.shown(/3\/3 report\.complete \w{10} handled/);
    dev.press(up + up + up);
    await dev.shown(/1\/3 test_webhook_endpoint \w{10} handled/);
    dev.press("d");
    await dev.shown(/event +test_webhook_endpoint[\s\S]*This is a test notification/);
    dev.press("r");
    await dev.shown(/handled +\w{26} test_webhook_endpoint/);
    // The chosen notification stays chosen when another one comes.
    await dev.shown(/1\/4 test_webhook_endpoint/);
    dev.press(down + down + down);
    await dev.shown(/4\/4 test_webhook_endpoint/);
    const text = await end(dev);
    // Without the spinners before and after, and the shell's output.
    const shown =
      /The playground[\s\S]*?(?=\S Ending; Ctrl-C|ended 0)/.exec(
        stripVTControlCharacters(text),
      )?.[0] ?? "";
    // A body is shown unchanged.
    const lines = shown.replaceAll("\r", "\n").replaceAll(/^ +"payload":.*$/gm, "");
    expect(lines.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("reporthook dev opens the page at the chosen notification with o, and breaks and fixes the handler with b and f", async () => {
    const { env, opened } = browser("own");
    const dev = await startDev("page.db", env);
    dev.press("b");
    await dev.shown("The handler is broken");
    dev.press("f");
    await dev.shown("The handler is fixed");
    dev.press("t");
    const [id] = /\w{26}/.exec(await dev.shown(/handled +\w{26}/)) ?? [];
    dev.press("o");
    const page = await dev.shown(/http:\S+\/dashboard\/\?delivery=\w{26}/);
    expect(page).toContain(`delivery=${id}`);
    await vi.waitFor(() => expect(opened()).toBe(page), { timeout: 20_000 });
    expect((await fetch(page)).status).toBe(200);
    await end(dev, ctrlC);
  });

  it("reporthook dev says that nothing is chosen yet, and names the keys", async () => {
    const dev = await startDev("none.db");
    dev.press("r");
    await dev.shown("There is no notification yet: t sends one");
    dev.press("?");
    await dev.shown(/↑ ↓ {2}choose/);
    await end(dev);
  });

  it("reporthook dev draws the last line no more once it ends, while a key's action is under way", async () => {
    const asked = createServer();
    asked.listen(0, "127.0.0.1");
    await once(asked, "listening");
    const app = `http://127.0.0.1:${(asked.address() as AddressInfo).port}/hook`;
    const dev = startOnTerminal(["dev", "--port", "0", "--forward", app], { cwd: folder });
    await dev.shown("No notification yet");
    dev.press("t");
    await once(asked, "request");
    const text = await end(dev);
    expect(stripVTControlCharacters(text)).not.toMatch(/page *ended 0/);
    asked.close();
    asked.closeAllConnections();
  });

  testWith(missingForShim())(
    "reporthook dev ends without an error when its disk is slow",
    async () => {
      const site = new Site(folder, "slow");
      const dev = await startDev(site.path, site.env());
      dev.press("t");
      await dev.shown(/handled +\w{26}/);
      site.order({ syncMs: 2_100 });
      await end(dev);
    },
  );

  testWith(missingForShim())(
    "reporthook dev says that it is ending, and ends at Ctrl-C, when its disk hangs",
    async () => {
      const site = new Site(folder, "hanging");
      const dev = await startDev(site.path, site.env());
      dev.press("t");
      await dev.shown(/handled +\w{26}/);
      site.order("hold");
      dev.press("q");
      await dev.shown("Ending; Ctrl-C ends at once");
      dev.press(ctrlC);
      const { code, settings } = await dev.ended();
      expect([code, settings]).toEqual([130, expect.stringMatching(/ icanon .* echo /s)]);
    },
  );

  it("reporthook dev ends with Ctrl-C at its question", async () => {
    const app = createServer((_, res) => void res.end('{"code":"unsupported_media_type"}'));
    await listenOnUsual(app);
    const dev = startOnTerminal(["dev", "--port", "0"], { cwd: folder });
    await dev.shown("[y/N]");
    dev.press(ctrlC);
    const { code, text, settings } = await dev.ended();
    expect([code, settings]).toEqual([1, expect.stringMatching(/ icanon .* echo /s)]);
    expect(text).toContain("Interrupted: nothing is done");
    expect(text).not.toContain("The playground is running");
    app.close();
    app.closeAllConnections();
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "reporthook dev ends at %s, and restores the terminal",
    async (signal) => {
      const dev = startOnTerminal(["dev", "--port", "0", "--db", `${signal}.db`], { cwd: folder });
      const pid = await dev.pid();
      await dev.shown("No notification yet");
      process.kill(pid, signal);
      const { code, settings } = await dev.ended();
      expect([code, settings]).toEqual([0, expect.stringMatching(/ icanon .* echo /s)]);
    },
  );

  it("reporthook dev restores the terminal when the process crashes", async () => {
    const crash = join(folder, "crash.cjs");
    writeFileSync(crash, 'process.on("SIGUSR2", () => { throw new Error("a crash"); });');
    const env = { NODE_OPTIONS: `--require ${crash}` };
    const dev = startOnTerminal(["dev", "--port", "0", "--db", "crash.db"], { cwd: folder, env });
    const pid = await dev.pid();
    await dev.shown("No notification yet");
    process.kill(pid, "SIGUSR2");
    const { code, settings } = await dev.ended();
    expect(code).not.toBe(0);
    expect(settings).toMatch(/ icanon .* echo /s);
  });

  it("reporthook dev offers an app that runs on a usual port, and shows what it does with a notification", async () => {
    const { env, opened } = browser("app");
    const home = mkdtempSync(join(folder, "app-"));
    const port = await freePort();
    const service = `http://127.0.0.1:${port}`;
    const client = createClient({ baseUrl: service, apiKey: "test-api-key" });
    const inbox = sqliteInbox(join(home, "inbox.db"));
    const receiver = createReceiver({ client, inbox, logger: false, ...patient });
    receiver.on("*", () => {});
    await inbox.open();
    const server = createServer(nodeHandler(receiver));
    const appPort = await listenOnUsual(server);
    const dev = startOnTerminal(["dev", "--port", String(port)], { cwd: home, env });
    for (;;) {
      const offered = await dev.shown(/running at http:\/\/localhost:\d+[\s\S]*\[y\/N\]/);
      // Something else may run on this machine, too.
      if (offered.includes(`:${appPort}/`)) break;
      dev.press("n\r");
    }
    dev.press("y\r");
    await dev.shown("No notification yet");
    dev.press("t");
    await dev.shown(/sent +test_webhook_endpoint\s+to\s+http\S+:\s+200\s+accepted\s+in/);
    await dev.shown(/says\s+valid\s+\(200\);\s+its\s+handlers\s+run\s+next/);
    await receiver.idle({ timeoutMs: 60_000 });
    dev.press("d");
    await dev.shown(/answer +200 in [\s\S]*asked +yes: valid[\s\S]*state +handled/);
    dev.press("o");
    const page = await dev.shown(/http:\S+\/dashboard\/\?delivery=\w{26}/);
    await vi.waitFor(() => expect(opened()).toBe(page), { timeout: 20_000 });
    expect(await (await fetch(page)).text()).toContain("<html");
    dev.press("r");
    await dev.shown(/sent +test_webhook_endpoint/);
    await dev.shown(/says\s+valid/);
    const [first, second] = await receiver.inbox.list({});
    expect(first?.id).not.toBe(second?.id);
    await end(dev);
    await receiver.close();
    server.close();
    server.closeAllConnections();
  });
});

describe("no terminal", () => {
  it("reporthook dev leads a browser from / to the page, and says where an app's inbox would be", async () => {
    const dev = startCli(["dev", "--port", "0", "--forward", "http://127.0.0.1:9/"], {
      cwd: folder,
    });
    const [, url = ""] = /service +(\S+)/.exec(await dev.printed("quit\n")) ?? [];
    const accept = { accept: "text/html,*/*" };
    const moved = await fetch(url, { headers: accept, redirect: "manual" });
    expect([moved.status, moved.headers.get("location")]).toEqual([302, "/dashboard/"]);
    expect((await fetch(url)).status).toBe(404);
    const page = await fetch(`${url}/dashboard/`, { headers: accept });
    expect([page.status, await page.text()]).toEqual([404, expect.stringContaining("inbox.db")]);
    dev.child.kill("SIGTERM");
    expect(await dev.ended()).toMatchObject({ code: 0, err: "" });
    expect(dev.out()).not.toContain("\u001b");
  });

  it("reporthook dev --output quiet prints problems only", async () => {
    const port = String(await freePort());
    const to = `http://127.0.0.1:${port}/webhooks/reports`;
    const args = ["dev", "--output", "quiet", "--port", port, "--db", "quiet.db"];
    const dev = startCli(args, { cwd: folder });
    await vi.waitFor(
      async () => expect((await fetch(`http://127.0.0.1:${port}`)).status).toBe(404),
      {
        timeout: 60_000,
      },
    );
    expect((await cli(["trigger", "report.complete", "--to", to])).code).toBe(0);
    expect((await cli(["trigger", "report", "--signature", "invalid", "--to", to])).code).toBe(0);
    await dev.printed(/rejected +\w{26} rejected/);
    dev.child.kill("SIGTERM");
    const { code, out, err } = await dev.ended();
    expect([code, err]).toEqual([0, ""]);
    expect(out.trimEnd().split("\n").join(" ")).toMatch(
      /^[\d:]{8}Z {2}rejected +\w{26} rejected: [^:]*$/,
    );
  });
});

/** Listens on one of the ports where apps usually do; resolves to it. */
async function listenOnUsual(server: Server): Promise<number> {
  for (const port of usualPorts) {
    try {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    } catch {
      // Something else listens there.
    }
  }
  throw new Error(`all of the ports ${usualPorts.join(", ")} are taken`);
}
