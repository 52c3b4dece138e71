import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { bullmqInbox } from "@reporthook/bullmq";
import { createClient, createReceiver, type Receiver } from "@reporthook/core";
import { actOn } from "@reporthook/core/store";
import { createEmulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { testWith } from "@reporthook/test-support/needs";
import { patient } from "@reporthook/test-support/patient";
import { endsWithTest, noRedis, startRedis } from "@reporthook/test-support/servers";
import { expect } from "vitest";
import { blocksOf, programFolder } from "./page.ts";

const folder = await programFolder();
const script = (await blocksOf("docs/scaling.md")).at(-1);

testWith(noRedis)(
  "the script of docs/scaling.md carries over waiting deliveries of a file, once, and requests with their contexts",
  async () => {
    const server = await endsWithTest(startRedis());
    await writeFile(join(folder, "carry.ts"), script?.code ?? "");
    const deliver = async () => new Response();
    const [db, emulator] = [join(folder, "inbox.db"), createEmulator({ deliver })];
    const client = createClient(emulator.clientOptions);
    const url = "https://app.example/hook";
    const callback = { secrets: ["a secret that is long enough for a token"], url };
    const options = { autostart: false, logger: false, callback, ...patient } as const;

    async function send(receiver: Receiver, reportId: string, signature?: "none") {
      const options = { reportId, ...(signature && { signature }) };
      const sent = emulator.notification("report.complete", options);
      const answer = await receiver.fetch(new Request("https://app.example/hook?x=é", sent));
      return ((await answer.json()) as { id: string }).id;
    }

    // One waits for a verdict, one for a later try; an unsigned one was released, another was not.
    const source = sqliteInbox(db);
    const old = createReceiver({ client, inbox: source, ...options });
    old.on("report.complete", () => Promise.reject(new Error("not yet")));
    await old.start();
    const later = await send(old, "later");
    await expect.poll(async () => (await old.inbox.get(later))?.attempts).toBeGreaterThan(0);
    await old.close();
    const next = createReceiver({ client, inbox: source, ...options });
    const fresh = await send(next, "fresh");
    const released = await send(next, "released", "none");
    const parked = await send(next, "parked", "none");
    await next.inbox.release(released);
    const context = { customer: "c-1" };
    const { id } = await next.reports.request({ domains: ["example.com"] }, { context });
    const address = emulator.reports.list()[0]?.webhookUrl ?? "";
    const ofRequest = emulator.notification("report.complete", { url: address });
    await next.fetch(new Request(address, ofRequest));
    await next.close();

    const carry = () =>
      promisify(execFile)(
        process.execPath,
        ["--conditions=@reporthook/source", "--import", "tsx", join(folder, "carry.ts")],
        { cwd: folder, env: { ...process.env, DB: db, INBOX_URL: server.url } },
      );
    expect((await carry()).stdout).toContain("Carried over: 4.");
    expect((await carry()).stdout).toContain("Carried over: 0.");

    const inbox = bullmqInbox({ connection: server.url, logger: false });
    const receiver = createReceiver({ client, inbox, ...options });
    const handled: string[] = [];
    receiver.on("report.complete", (event) => {
      if (event.requestId === id) expect(event.context).toEqual(context);
      else handled.push(event.id);
    });
    expect((await inbox.get(fresh))?.state).toBe("received");
    await receiver.start();
    await receiver.idle({ timeoutMs: 60_000 });
    expect(handled.sort()).toEqual([later, fresh, released].sort());
    expect(await inbox.get(parked)).toBe(null);
    expect(await receiver.reports.get(id)).toMatchObject({ state: "complete", context });

    // As after an end between the two: it is in the queues, and in the file it still waits.
    const query = { act: "release", receiver: "reports", id: released, by: null } as const;
    await actOn(source, { ...query, now: Date.now() });
    await source.close();
    expect((await carry()).stdout).toContain("Carried over: 1.");
    await receiver.idle({ timeoutMs: 60_000 });
    expect(handled.length).toBe(3);
    await receiver.close();
  },
);
