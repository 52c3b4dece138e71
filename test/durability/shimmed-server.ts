import { sqliteInbox } from "@reporthook/sqlite";
import { serve } from "./serve.ts";

// A process of its own, so that the shim can be loaded into it and that it can be killed.
const inbox = sqliteInbox(process.argv[2] ?? "");
const ackMs = Number(process.argv[3]);
const served = await serve(inbox, { ackMs });
const asked: Record<string, () => unknown> = {
  health: () => served.receiver.health(),
  waiting: () => inbox.load("reports").waiting,
  lines: () => served.lines,
  handled: () => served.handled,
  memory: () => process.memoryUsage().rss / 1_048_576,
  close: () => served.close(),
};
process.on("message", async (what: string) => {
  const answer = await asked[what]?.();
  process.send?.({ what, answer });
  if (what === "close") process.disconnect();
});
process.send?.(served.url);
