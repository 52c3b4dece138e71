import { createClient, createReceiver, memoryInbox } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { createEmulator } from "@reporthook/emulator";
import { listen } from "../../adapters/hosts/mount.ts";
import type { Case } from "./suite.ts";

/** The whole way over HTTP, with the emulator on this runtime too. */
export const throughTheEmulator: readonly Case[] = [
  {
    name: "a signed notification is handled, a forged one rejected, an unsigned one held",
    async run(): Promise<void> {
      const emulator = createEmulator();
      const { url } = await emulator.listen();
      const { apiKey } = emulator.clientOptions;
      const client = createClient({ baseUrl: url, apiKey });
      const receiver = createReceiver({ client, inbox: memoryInbox(), logger: false });
      const seen: string[] = [];
      receiver.on(["report", "test_webhook_endpoint"], ({ type }) => void seen.push(type));
      const handler = nodeHandler(receiver);
      const served = await listen((req, res) => void handler(req, res), "/webhooks/reports");

      for (const signature of ["valid", "invalid", "none"] as const) {
        const sent = emulator.notification("report.complete", { signature });
        const { status } = await fetch(served.url, sent);
        if (status !== 200) throw new Error(`${signature}: ${status}`);
      }
      await client.testWebhook(served.url);
      await client.requestReport({ webhook_url: served.url });
      await emulator.settled();
      await receiver.idle();
      const { handled, rejected, held } = await receiver.inbox.counts();
      const got = JSON.stringify([handled, rejected, held, seen.sort()]);
      const due = ["report.complete", "report.processing", "test_webhook_endpoint"];
      await served.close();
      await receiver.close();
      await emulator.close();
      if (got !== JSON.stringify([3, 1, 1, due])) throw new Error(`It ended as ${got}`);
    },
  },
];
