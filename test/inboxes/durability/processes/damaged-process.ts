import { sqliteInbox } from "@reporthook/sqlite";
import { serve } from "../serve.ts";

// One of several processes on a file: serves it over HTTP, and says what it handles, until it is told to close.
const [path = "", works = ""] = process.argv.slice(2);
const { url, receiver, close } = await serve(sqliteInbox(path), {
  ackMs: 10_000,
  works: works === "works",
  handle: async (id) => void process.send?.({ handled: id }),
});
const { error } = (await receiver.health()).inbox;
process.send?.({ url, error });
process.on("message", async (asked) => {
  if (asked === "health") process.send?.({ ready: (await receiver.health()).ready });
  else {
    await close().catch(() => {});
    process.disconnect();
  }
});
