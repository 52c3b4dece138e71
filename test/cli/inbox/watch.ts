import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, createReceiver } from "@reporthook/core";
import { createEmulator, type NotificationName } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { patient } from "@reporthook/test-support/patient";
import { afterAll, describe, expect, it } from "vitest";
import { cli, startCli, widest } from "../process.ts";

const folder = mkdtempSync(join(tmpdir(), "reporthook-watch-"));
const emulator = createEmulator();
const receiver = createReceiver({
  ...{ client: createClient(emulator.clientOptions), logger: false, ...patient },
  ...{ inbox: sqliteInbox(join(folder, "inbox.db")), retry: { attempts: 1 } },
});
receiver.on("report.complete", () => {
  throw new Error("boom");
});
afterAll(async () => {
  await receiver.close();
  rmSync(folder, { recursive: true });
});

async function send(name: NotificationName): Promise<string> {
  const request = new Request("http://app/", emulator.notification(name));
  return ((await (await receiver.fetch(request)).json()) as { id: string }).id;
}

describe("watching", () => {
  it("reporthook inbox watch shows what comes, what changes and what is deleted, until Ctrl-C", async () => {
    const here = { cwd: folder };
    const earlier = await send("report.complete");
    await receiver.idle({ timeoutMs: 60_000 });
    const all = startCli(["inbox", "watch"], here);
    const parked = startCli(["inbox", "watch", "--state", "parked"], here);
    const json = startCli(["inbox", "watch", "--json"], here);
    for (const watching of [all, parked]) {
      await watching.printed("Watching inbox.db; Ctrl-C ends it.\n");
    }
    expect(await json.printed("\n")).toBe('{"what":"ready"}\n');

    const failed = await send("report.complete");
    const fine = await send("report.processing");
    await all.printed(
      new RegExp(`dead +${failed} +report\\.complete boom\\s+\\(attempts_used_up\\)`),
    );
    await all.printed(new RegExp(`handled +${fine} `));
    await parked.printed(new RegExp(`dead +${failed}`));
    await receiver.inbox.discard(earlier);
    await all.printed(new RegExp(`deleted +${earlier}`));
    await parked.printed(new RegExp(`deleted +${earlier}`));
    await json.printed(`"what":"deleted","entry":{"id":"${earlier}"`);
    await json.printed(fine);

    for (const watching of [all, parked, json]) {
      watching.child.kill("SIGINT");
      const { code, out } = await watching.ended();
      expect(code).toBe(0);
      if (watching !== json) expect(widest(out)).toBeLessThanOrEqual(80);
    }
    expect(parked.out()).not.toContain(fine);
    const lines = json.out().trimEnd().split("\n").slice(1);
    for (const line of lines) {
      const { what, entry, at } = JSON.parse(line);
      expect(["new", "changed", "deleted"]).toContain(what);
      expect(Number.isNaN(Date.parse(at))).toBe(false);
      expect(entry).not.toHaveProperty("body");
    }
  });

  it("reporthook inbox watch needs an inbox that is there", async () => {
    const { code, err } = await cli(["inbox", "watch", "--db", "none.db"], { cwd: folder });
    expect([code, err]).toEqual([1, expect.stringContaining("There is no inbox none.db")]);
  });
});
