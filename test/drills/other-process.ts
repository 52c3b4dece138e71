import { createClient, createReceiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";

// Another process on the inbox that is named: it tells when it has begun, and ends when it is told to.
const emulator = createEmulator();
const inbox = sqliteInbox(process.argv[2] ?? "");
const receiver = createReceiver({
  client: createClient(emulator.clientOptions),
  inbox,
  logger: false,
});
receiver.on("*", () => {});
await receiver.start();
// Others know of it once its first sign of life is kept.
while (Object.keys(await inbox.notes("reports", "now/process/")).length < 2) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}
process.once("message", () => void receiver.close().then(() => process.exit()));
process.send?.("begun");
