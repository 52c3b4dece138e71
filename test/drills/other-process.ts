import { createClient, createReceiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";

// Another process on the inbox that is named: it tells when it has begun, and ends when it is told to.
const emulator = createEmulator();
const receiver = createReceiver({
  client: createClient(emulator.clientOptions),
  inbox: sqliteInbox(process.argv[2] ?? ""),
  logger: false,
});
receiver.on("*", () => {});
await receiver.start();
process.once("message", () => void receiver.close().then(() => process.exit()));
process.send?.("begun");
