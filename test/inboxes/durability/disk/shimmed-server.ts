import { setImmediate } from "node:timers/promises";
import { sqliteInbox } from "@reporthook/sqlite";
import { type ServeOptions, serve } from "../serve.ts";

// A separate process, so that the shim can be loaded into it and that it can be killed.
const [, , path = "", options = "{}"] = process.argv;
const inbox = sqliteInbox(path);
const served = await serve(inbox, JSON.parse(options) as ServeOptions);
const asked: Record<string, () => unknown> = {
  health: () => served.receiver.health(),
  waiting: async () => {
    const { waiting } = inbox.backlog("reports");
    // The inbox sends the counted deliveries to its thread at the end of this turn.
    await setImmediate();
    return waiting;
  },
  lines: () => served.lines,
  handled: () => served.handled,
  memory: () => process.memoryUsage().rss / 1_048_576,
  closing: () => served.close().catch((error: Error) => error.message),
  close: () => served.close(),
};
process.on("message", async (what: string) => {
  const answer = await asked[what]?.();
  process.send?.({ what, answer });
  if (what === "close") process.disconnect();
});
process.send?.(served.url);
